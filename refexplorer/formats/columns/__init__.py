"""References, keys and names of chunks as columns: no Python object for each of them.

`references` and `table` hold them, `chunk_names` goes between keys and chunk indices. Begin with
`table`.
"""
