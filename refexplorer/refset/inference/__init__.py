"""Inference of a small V1 document from the columns of a set.

Keys and URLs are parsed as words with numbers between; references with equal words form a grid of
their numbers, which `groups` finds. Begin with `infer`.
"""
