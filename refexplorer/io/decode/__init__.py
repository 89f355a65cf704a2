"""Decoding of chunks, never producing more values than a chunk can contain.

`steps` are the codecs as stages, `sizes` predicts decoded sizes, `confined` runs codecs of
unpredictable size in a child process. Zarr decodes chunks itself after `steps` has checked them.
Begin with `steps`.
"""
