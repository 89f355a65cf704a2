"""The set itself: segments laid over a table, each key found once.

`opened_set` composes it, `overriding` decides which reference of a key counts, `links` follow those
of LINDI, `contents` and `lookup_check` carry it to other processes, `batches` go through all of it.
Begin with `opened_set`.
"""
