"""Auditing sets of 10^5 to 10^6 targets and 10^8 chunks, in bounded memory.

`plan` lists all references, sorts them on disk in the order of targets and offsets, and cuts them
into parts; `work` does a part, in threads or on a Dask cluster; `report` keeps and counts the
results. Begin with `auditing`. What it costs is in ``refexplorer/reference/COSTS.md``.
"""
