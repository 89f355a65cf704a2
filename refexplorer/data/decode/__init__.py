"""Decoding of chunks to values, never more of them than a chunk has room for.

`pipelines` are the codecs as stages, `inflating` tells the size beforehand, `confined` runs in a
child process what does not tell. `admission` checks chunks for Zarr, which decodes them itself;
`stored_blocks` spares it to inflate them a second time. Begin with `decoding`.
"""
