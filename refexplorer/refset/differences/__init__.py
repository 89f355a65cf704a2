"""The differences between two sets, by key and by meaning.

`difference` composes it; `key_matching` lays the keys beside each other, `comparing` the
references, `renames` and `arrays_moved` find the rule behind most changes; `change_tree` has the
keys that differ by folder.
"""
