"""Comparing one file with a set: which chunk a range is, where it belongs, what both say of it.

Begin with `file_compared`. `file_chunks` finds the chunk of a byte range, `grouping` the array of
the file, `placing` and `origins` where both belong in the set; `metadata_compared`, `held_compared`
and `values_compared` compare the rest, `messages` those of GRIB; `set_array` and `cf` bring both
sides into one language.
"""
