"""Inference of a small V1 document from the columns of a set.

Keys and URLs are read as words with numbers between; references whose words agree make a grid of
their numbers, which `groups` finds. Begin with `infer`.
"""
