"""The arrays of a set, and which keys are chunks inside their grids.

`array_metadata` finds the arrays, `array_index` which chunks have a reference. Begin there.
"""
