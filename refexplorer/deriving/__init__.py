"""Sets made of others.

`joining` joins several along a dimension, with the keys of `joined_arrays` and the values of
`joined_values`; `migrating` makes Zarr v3 of v2.
"""
