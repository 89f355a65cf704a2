"""The parts of a set: explicit references, gen items and arrays of a parquet store.

`segment` says what a part can do; `entries` makes a table of explicit references, and
`generated_columns` makes columns of a gen item. `records` is an array of a parquet store, in parts
(`record_part`) with `record_rows`. `rejected` are the keys that an error keeps out, `listing` takes
all segments together. Begin with `segment`.
"""
