"""What reading will cost, known before a byte is read, and what would make it cheaper.

`reads` turns chunks into requests as each reader of `connections` merges them, `running_reads` does
so block by block; `selections` says which chunks a part of an array needs, `opening_reads` which
ones opening takes; `access_costs` puts numbers to both, `rules` and `document_rules` draw
`findings` from them. Begin with `advising`.
"""
