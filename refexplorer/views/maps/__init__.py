"""The maps: chunks of an array, bytes of a target, and what changed since another set.

`chunk_map` and `target_map`, a view each; `target_listing` is the table of targets,
`target_dates` tells when they are of.
"""
