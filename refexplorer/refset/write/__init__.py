"""Writing of columns to files, as JSON or record files, and the check afterwards.

`json_members` and `parquet_export` write, `document_check` and `record_check` read back what was
written; `spool` keeps references on disk meanwhile.
"""
