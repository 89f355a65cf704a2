"""Auditing sets of 10^5 to 10^6 targets and 10^8 chunks, in bounded memory.

`references` lists all references block by block, and `sorting` puts them on disk in the order of
their targets. `parts` cuts that into parts of about the same cost, each with all that it needs, so
that who does one (`auditor`: ask the targets, compare sizes, decode what `sampling` chose) need not
open the set; `running` has threads or the workers of a Dask cluster do them. `store` keeps the
results, a file a part; `tally` counts them part after part, and `report` gives them out.

What it costs, and a plan for 10^9 chunks, is in ``refexplorer/reference/COSTS.md``.
"""
