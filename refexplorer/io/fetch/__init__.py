"""Bytes of targets: merged requests, retries, limits, and why one failed.

`targets` reads one reference and files of this machine, `many` reads many; byte ranges are merged.
Remote ways are `http` with its `answers`, and `stores`; `guarded` reads sets of visitors,
`background` stops what waits, `failures` are the sentences. Begin with `targets`.
"""
