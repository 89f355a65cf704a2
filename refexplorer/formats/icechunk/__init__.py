"""Icechunk: a snapshot of a repository as a reference set, read-only, and the repository's history.

`repository` opens a version and reads it: with Icechunk 2 by `columns`, with Icechunk 1 by
`manifests`. `storage` goes from a place to Icechunk's storage and back, `facts` and `history` tell
what else a repository has, `recorded` which versions targets had.
"""
