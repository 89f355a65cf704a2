"""Writing columns to files, as JSON or record files, and the check afterwards.

`json`, `parquet` and `icechunk` write, `comparing` reads back what was written. Begin with `json`.
"""
