"""The bytes and values of references: the only package that reads targets.

`access` decides what may be read, `fetch` reads it, `decode` makes values, `earth` locates them on
the globe; `sources` are whole files, `reading` has the interfaces for fsspec, Zarr and xarray.
Begin with `fetch.targets`.
"""
