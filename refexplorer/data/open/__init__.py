"""A set as other packages read it: fsspec, Zarr, xarray, and the code that does it.

`filesystem` is the set as files, `stores` make Zarr and xarray objects of it; `snippets` write
code, with the `fsspec_options` of a set; `loop_here` lets Zarr do without threads. Begin with
`filesystem`.
"""
