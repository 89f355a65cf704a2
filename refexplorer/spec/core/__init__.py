"""What all rooms of the specification share: references, diagnostics, Zarr metadata.

Begin with `references` (the four kinds), then `catalogue` (every diagnostic code).
"""
