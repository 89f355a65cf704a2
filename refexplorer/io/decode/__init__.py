"""Decoding of chunks to values, never more of them than a chunk has room for.

`steps` are the codecs as stages, `sizes` tells the size beforehand, `confined` runs in a child
process what does not tell. Zarr decodes chunks itself, once `steps` has checked them. Begin
with `steps`.
"""
