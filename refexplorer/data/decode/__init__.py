"""Decoding of chunks to values, never more of them than a chunk has room for.

`pipelines` are the codecs as stages, `inflating` tells the size beforehand, `confined` runs in a
child process what does not tell. Begin with `decoding`.
"""
