"""The opened set: references as columns, and all queries on them; no target is read here.

`opened_set` is made of `segments`: explicit ones, generated ones, and record files
(`parquet_segment`); `overriding` decides which key wins. `tree`, `arrays`, `chunk_grid`, `search`,
`targets`, `differences`, `summary` and `lint` are queries; `writing` writes, `inference` finds
templates. Begin with `opened_set`.
"""
