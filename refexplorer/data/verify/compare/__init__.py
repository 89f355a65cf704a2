"""Comparing one file with a set: which chunk a range is, where it belongs, what both say of it.

`file_chunks` finds the chunk of a byte range, `placing` compares its place with the key's,
`metadata_compared` and `held_values` the rest; `set_array` and `cf` bring both into one language.
"""
