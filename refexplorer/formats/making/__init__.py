"""References made on the fly: to data files by the packages that know them, to stores of Zarr.

`confined_making` has a child process run `makers`, which is where to begin; the forms
`data_file_form` and `zarr_form` ask it.
"""
