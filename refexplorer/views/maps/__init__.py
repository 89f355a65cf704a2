"""The maps: chunks of an array, bytes of a target, and changes since another set.

`chunk_map` and `target_map` are a view each; `target_listing` is the table of targets,
`target_dates` finds their dates.
"""
