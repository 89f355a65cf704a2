"""References, keys and names of chunks as columns: no Python object for each of them.

Entries are read into a `table` of `references`; `arrow` has the texts and numbers of columns,
`chunk_names` goes between keys and chunk indices. Begin with `table`.
"""
