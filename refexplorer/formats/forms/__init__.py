"""The forms of a source: one module each, asked in the order of a registry.

`form` is the protocol and says how to add one, `registry` has ours and those of other packages,
`finding` goes from a path, URL or value to the forms. Begin with `form`.
"""
