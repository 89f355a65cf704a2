"""Bytes of targets: merged requests, retries, limits, and why one failed.

`target_reader` reads one reference, `fetch_many` many: `ranges` are wanted, `gathering` merges what
threads ask for together, `pieces` come. The ways are `local`, `http` with its `answers`, and
`remote`, with `versioned` where a store has versions; `background` stops what waits there. `facts`
are the size and version of a file, `failures` the sentences. Begin with `target_reader`.
"""
