"""Chunks as values with what became of them: fetched, no reference, failed.

`selecting` reads a part of an array, `chunk_reader` its chunks as they come, `ladder` decodes one a
step at a time, `estimates` says what it costs. `cf_values` gives values their meaning, `plain_cf`
the usual ones without xarray.
"""
