"""What files say of themselves: arrays, chunks with their byte ranges, attributes.

`native_file` has the models that all formats share. `opening` finds the reader of a target: `hdf5`
(with `hdf5_metadata`), `tiff` and `fits` use the library of the format, in a child process
(`confined_file`, to and from which `passing` brings what is told); `netcdf3` and `zarr_native` read
a header or JSON themselves. `target_file` lets all read through the access policy of the set.
"""
