"""Readers of data files: all objects, arrays, chunks with their byte ranges, attributes.

`data_file` has the models that all formats share. `hdf5` (with `hdf5_metadata`), `tiff`, `fits` and
`grib` use the library of the format, `netcdf3` reads the header itself. `metadata_transfer` carries
what they say to and from a child process. `references` makes references to any of them, in the
terms of Zarr (`zarr_terms`); `grib_references` puts the fields of GRIB on their dimensions.
"""
