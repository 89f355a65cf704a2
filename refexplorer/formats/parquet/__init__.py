"""The parquet layout of fsspec's `LazyReferenceMapper`, read and written one record file at a time.

`store` reads ``.zmetadata``, lists record files and writes them; `records` reads
one of them. Begin with `store`.
"""
