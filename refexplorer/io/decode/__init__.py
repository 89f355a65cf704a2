"""Decoding of chunks to values, never more of them than a chunk has room for.

`pipelines` are the codecs as stages, `sizes` tells the size beforehand, `confined` runs in a child
process what does not tell. `steps` also checks chunks for Zarr, which decodes them itself. Begin
with `steps`.
"""
