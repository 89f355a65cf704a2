"""The bytes and values of references: the only room that reads targets.

`access` decides what may be read, `fetch` reads it, `decode` makes values, `earth` says where they
are; `sources` are whole files, `reading` has the faces of fsspec, Zarr and xarray. Begin with
`fetch.targets`.
"""
