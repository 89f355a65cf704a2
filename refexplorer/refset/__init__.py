"""The opened set: references as columns, and all questions to them; no target is read here.

Rooms from left to right: `columns`, `segments`, `tree`, `chunks`, `opened`; then what is asked of
an opened set: `grids`, `search`, `targets`, `differences`, `queries`, `lint`, `write`,
`inference`. Begin with `opened.opened_set`.
"""
