"""From bytes and objects to documents, and back.

A package for each form (`json`, `parquet`, `icechunk`) on top of `buffers` and `files`; `source`
finds out what a source is. Begin with `source`.
"""
