"""Icechunk: a snapshot of a repository in a local folder as a reference set, read-only.

`repository` reads snapshots and manifests, `objects` finds the folder of a session or store.
"""
