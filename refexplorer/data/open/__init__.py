"""A set as other packages read it: fsspec, Zarr, xarray, and the code that does it.

`filesystem` is the set as files, `stores` make Zarr and xarray objects of it. Begin there.
"""
