"""Chunks as values with what became of them: fetched, no reference, failed.

`selecting` reads a part of an array, `chunk_reader` its chunks as they come, which `array_decoder`
decodes; both give `readings`. `ladder` decodes one chunk a step at a time, `shards` what is inside
of one; `why` goes on to the value that is shown. `estimates` says what reading costs. `cf_values`
gives values their meaning, `plain_cf` the usual ones without xarray. Begin with `selecting`.
"""
