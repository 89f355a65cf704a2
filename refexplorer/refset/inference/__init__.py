"""Inference of a small V1 document from the columns of a set.

Keys and URLs are read as words with numbers between; references whose words agree make a grid of
their numbers, and each column over a grid that follows a progression becomes an expression. Begin
with `finding`.
"""
