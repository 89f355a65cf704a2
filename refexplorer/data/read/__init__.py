"""Chunks as values with what became of them: fetched, no reference, failed.

`selecting` reads a part of an array, `chunk_reader` its chunks as they come, which `array_decoder`
decodes; both give `readings`. `trace` reads and decodes one key a step at a time, `shards` reads
the index of a shard; `value_origin` goes on to the value that is shown. `estimates` says what
reading costs. `cf_values` gives values their meaning, `plain_cf` the usual ones without xarray.
Begin with `selecting`.
"""
