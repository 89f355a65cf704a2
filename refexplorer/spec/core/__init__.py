"""The foundations of all rooms of the specification: references, diagnostics, Zarr metadata.

Begin with `references` (the four kinds), which `reference_parsing` reads. Of diagnostics,
`catalogue` has every code, `explanations` what to do, citing `rules`; `diagnostics` collects
findings. Of Zarr, `zarr_metadata` reads arrays, with `datatypes` and `fill_values`; `paths` are
those of folders. `portability` is what stores and readers take of keys and URLs, `names` what
jinja2 takes of templates; `suggestions` says what was meant.
"""
