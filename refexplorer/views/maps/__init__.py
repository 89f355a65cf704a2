"""The maps: chunks of an array, bytes of a target, and what changed since another set.

`chunk_map`, `target_map` and `map_changes`, a view each; `target_listing` is the table of targets,
`target_dates` when they are of.
"""
