"""The reference specification itself: no files, no network, no widgets.

`references`, `zarr_metadata` and `findings` are its data; `templates` and `gen` evaluate,
`document` is a whole document and `derivation` explains where a key comes from. `lint` and
`lint_metadata` check single keys, `codes` explains findings. Begin with `document`.
"""
