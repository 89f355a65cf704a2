"""Files that are read under a policy: reference sets, and the targets they name.

`web_files` reads sets from URLs, `guarded_files` files of this machine that a visitor may open.
`opening` finds the reader of a target: those of `formats/datafiles` that use the library of a
format run in a child process (`confined_file`); `zarr_native` reads Zarr's JSON itself.
`target_file` lets all of them read through the access policy of the set.
"""
