"""The reference specification itself: no files, no network, no widgets.

`references`, `zarr_metadata` and `findings` are what it is about; `templates` and `gen` compute,
`document` is a whole one and `derivation` says how a key came about.
`lint` and `lint_metadata` judge single keys, `codes` explains what is found. Begin with `document`.
"""
