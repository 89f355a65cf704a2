"""Chunks of an array on their grid: whole, cut down to a picture, or counted.

`chunk_grid` is what people hold; `grid_view` makes cells of it, `missing_counts` counts.
"""
