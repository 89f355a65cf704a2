"""References, keys and names of chunks as columns: no Python object for each of them.

`reference_columns` and `table` hold them, `key_index` finds a key, `chunk_keys` and `chunk_names`
go between keys and chunk indices. Begin with `table`.
"""
