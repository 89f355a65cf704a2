"""From bytes and objects to columns of references, and back.

`finding` asks the `forms` what a source is and returns a `source`; each format has its reader:
`documents` and `json`, `parquet`, `icechunk`, `dmrpp`, and `datafiles` (HDF5, GRIB,
…). All of them produce `columns`. Begin with `finding`.
"""
