"""References, keys and names of chunks as columns: no Python object for each of them.

Entries are read into a `table` of `references`, which makes columns of texts and numbers, too;
`texts` reads texts where they are, `chunk_names` goes between keys and chunk indices. Begin with
`table`.
"""
