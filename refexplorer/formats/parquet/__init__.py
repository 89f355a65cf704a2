"""The parquet layout of fsspec's `LazyReferenceMapper`, read and written a record file at a time.

`store` reads ``.zmetadata`` and lists record files, `records` reads one. Begin with `store`.
"""
