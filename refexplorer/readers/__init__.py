"""Other readers: installed ones are run on a set, of the others a table knows what they lack.

`features` finds what a set uses in one pass and has the table; `running` runs fsspec, VirtualiZarr
and icechunk in the child process `child`, on a sample; `comparing`, where to begin, makes
`verdicts` of both.
"""
