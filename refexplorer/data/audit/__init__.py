"""Auditing sets of 10^5 to 10^6 targets and 10^8 chunks, in bounded memory.

`references` lists all references block by block, and notes the record files that give none
(`recordfiles`). `sorting` puts them on disk in sorted runs, and `merging` reads these back in the
order of targets and offsets, for `overlaps`. `parts` cuts that into parts of about the same
cost, each with all that it needs, so that who does one (`auditor`: ask the targets, compare sizes,
decode what `sampling` chose) need not open the set; `running` has threads or the workers of a Dask
cluster do them. `store` keeps the results, a file a part; `tally` counts them part after part, and
`report` gives them out, as a table, a `summary` and a `page`.

What it costs, and a plan for 10^9 chunks, is in ``refexplorer/reference/COSTS.md``.
"""
