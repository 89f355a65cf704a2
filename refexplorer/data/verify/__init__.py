"""Comparing a set with its files: whether it says what they say.

`native` reads the metadata that a file has of its own, with the library of its format; the
comparison and its findings stand beside it. Begin with `verifying`.
"""
