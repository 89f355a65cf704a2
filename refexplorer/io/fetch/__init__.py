"""Bytes of targets: merged requests, retries, limits, and why one failed.

`targets` reads one reference and local files, `many` reads many; byte ranges are merged. Remote
files are read by `http` with its `answers`, and `stores`; `guarded` reads sets of visitors,
`background` cancels reads, `failures` describes errors. Begin with `targets`.
"""
