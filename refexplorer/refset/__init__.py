"""The opened set: references as columns, and all questions to them; no target is read here.

`opened_set` is made of `segments`: explicit ones, generated ones, and record files
(`parquet_segment`); `overriding` says which key wins. `tree`, `arrays`, `chunk_grid`, `search`,
`targets`, `differences`, `summary` and `lint` are asked; `writing` writes, `inference` finds
templates. Begin with `opened_set`.
"""
