"""Readers of data files: all objects, arrays, chunks with their byte ranges, attributes.

`data_file` has the models that all formats share. `hdf5` (with `hdf5_metadata`), `tiff`, `fits` and
`grib` use the library of the format, `netcdf3` reads the header itself. `metadata_transfer` sends
metadata to and from a child process. `references` generates references to any of them, in Zarr's
terms (`zarr_terms`); `grib_references` arranges the fields of GRIB on their dimensions.
"""
