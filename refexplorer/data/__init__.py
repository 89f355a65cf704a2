"""The bytes and values of references: the only room that reads targets.

Rooms from left to right: `access`, `decode`, `fetch`, `sources`, then `open` (the fsspec, Zarr and
xarray faces), `read` (chunks with their state), `check`, `audit`. Begin with
`fetch.target_reader`.
"""
