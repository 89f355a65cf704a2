"""References made on the fly: to data files by the packages that know them, to stores of Zarr.

Begin with `makers`; the forms `data_file_form` and `zarr_form` ask it.
"""
