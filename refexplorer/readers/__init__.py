"""Other readers: installed ones are run on a set; for others, a table lists what they lack.

`features` finds the features used by a set in one pass and has the table; `running` runs fsspec,
VirtualiZarr and icechunk in the child process `child`, on a sample; `comparing` combines both into
`verdicts`. Begin with `comparing`.
"""
