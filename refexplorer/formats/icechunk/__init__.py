"""Icechunk: a snapshot of a repository as a reference set, read-only, and the repository's history.

`repository` opens a version and reads it: with Icechunk 2 by `columns`, with Icechunk 1 by
`manifests`. `facts` and `history` describe the repository, and which versions targets had;
`writer` makes a repository. Begin with `repository`.
"""
