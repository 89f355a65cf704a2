"""The forms of a source: one module each, asked in the order of a registry.

`form` is the protocol and says how to add one, `registry` has ours (each in a module named after
it, `json_form` to `zarr_form`) and those of other packages. `zarr_web` lists a store of Zarr on a
web server; `other_files` says what a file is that is no set. Begin with `form`.
"""
