"""The reference specification itself: no files, no network, no widgets.

`core` holds references, diagnostics and Zarr metadata; `templates`, `gen` and `document` build on
each other in that order. Begin with `document.model`.
"""
