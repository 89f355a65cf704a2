"""From bytes and objects to documents or columns, and back.

A package for each layout (`json`, `parquet`, `icechunk`) on top of `buffers` and `files`; `finding`
asks the `forms` what a source is. Begin with `finding`.
"""
