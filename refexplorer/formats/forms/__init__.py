"""The forms of a source: one module each, asked in the order of a registry.

`form` is the protocol and says how to add one, `registry` has ours and those of other packages.
Begin with `form`.
"""
