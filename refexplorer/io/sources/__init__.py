"""Targets as data files, read under the policy of the set.

`opening` finds the reader of a target: those of `formats/datafiles` run in a child process
(`confined`), which gets the bytes from `target_file`; `zarr_files` reads Zarr's JSON itself. Begin
with `opening`.
"""
