"""The foundations of all rooms of the specification: references, diagnostics, Zarr metadata.

Begin with `references` (the four kinds), then `catalogue` (every diagnostic code).
"""
