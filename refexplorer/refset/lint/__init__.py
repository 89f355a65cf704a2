"""The lint rules, asked of columns: only odd rows reach Python.

`linting` runs them. `url_rules` and `metadata_rules` ask the rules of `refexplorer.spec.document`;
those that take several references are here: `chunk_rules` with `stored_chunks`, `gen_rules`,
`grid_rules`, `neighbour_rules`, `range_rules`. Begin with `linting`.
"""
