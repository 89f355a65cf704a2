"""The parts of a set: explicit references, gen items and arrays of a parquet store.

`segment` says what a part can do, `records` is a parquet array, `rejected` are the keys that an
error keeps out. Begin with `segment`.
"""
