"""Bytes of targets: merged requests, retries, limits, and why one failed.

`target_reader` reads one reference, `fetch_many` many; `http`, `local` and `remote` are the ways.
Begin with `target_reader`.
"""
