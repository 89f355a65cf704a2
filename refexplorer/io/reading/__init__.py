"""Chunks as values with what became of them, and the faces of other packages.

`selection` reads a part of an array, `chunks` its chunks as they come; `trace` reads and decodes
one key a step at a time, `trace_value` goes on to the value that is shown. `cf` gives values their
meaning. `filesystem` and `zarr_store` are the faces of fsspec and Zarr, `code` writes what opens a
set with them. Begin with `selection`.
"""
