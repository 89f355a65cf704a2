"""Bytes of targets: merged requests, retries, limits, and why one failed.

`targets` reads one reference, `many` many: `ranges` are wanted and merged. The ways are `http` with
its `answers`, and `stores` for local and remote ones; `guarded` reads sets of visitors,
`background` stops what waits, `failures` are the sentences. Begin with `targets`.
"""
