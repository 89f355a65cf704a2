"""The public API: the class `ReferenceSet`, and the functions that accept or create a set.

`opening` opens a set as a `referenceset`; `converting`, `inferring`, `joining`, `migrating` and
`repair` write a new one, which is read back before it gets its final name. Begin with
`referenceset`.
"""
