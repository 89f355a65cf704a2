"""Chunks as values with their states, and the interfaces for other packages.

`selection` reads a selection of an array, `chunks` its chunks as they arrive; `trace` reads and
decodes one key step by step, `trace_value` continues to the value that is shown. `cf` decodes
values. `filesystem` and `zarr_store` are the interfaces for fsspec and Zarr, `code` generates code
that opens a set with them. Begin with `selection`.
"""
