"""Bytes of targets: merged requests, retries, limits, and why one failed.

`targets` reads one reference, `many` many: `ranges` are wanted and merged. The ways are `http` with
its `answers`, `local`, and `stores` for remote ones; `guarded` reads sets of visitors,
`background` stops what waits, `failures` are the sentences. Begin with `targets`.
"""
