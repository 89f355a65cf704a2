"""Readers of data files: arrays, chunks with their byte ranges, attributes, as the file has them.

`data_file` has the models that all formats share. `hdf5` (with `hdf5_metadata`), `tiff`, `fits` and
`grib` use the library of the format, `netcdf3` reads the header itself. `metadata_transfer` carries
what they tell to and from a child process.
"""
