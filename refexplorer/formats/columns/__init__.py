"""References, keys and names of chunks as columns: no Python object for each of them.

`entries` are read into `references` and `spans`; a `table` holds both, `chunk_names` goes between
keys and chunk indices. Begin with `table`.
"""
