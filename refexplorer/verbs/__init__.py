"""What people call: the class `ReferenceSet`, and the functions that take or make a set.

`opening` opens one as a `referenceset`; `converting`, `inferring`, `joining`, `migrating` and
`repair` write another, which is read back before it gets its name. Begin with `referenceset`.
"""
