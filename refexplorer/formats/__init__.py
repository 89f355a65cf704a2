"""From bytes and objects to columns of references, and back.

`finding` asks the `forms` what a source is and returns a `source`; each form reads its own:
`documents` and `json`, `parquet`, `icechunk`, `zarr_stores`, `dmrpp`, and the
`datafiles` (HDF5, GRIB, …) by themselves. All of them make `columns`. Begin with `finding`.
"""
