"""The plan of an audit: sorted references, cut into parts that can be done anywhere.

`audited_references` lists, `sorting` and `merging` order, `audit_parts` cuts.
"""
