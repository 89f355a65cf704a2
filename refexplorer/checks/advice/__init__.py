"""What reading will cost, known before a byte is read, and what would make it cheaper.

`requests` turns ranges into requests as each reader merges them; `accesses` says which chunks a
part of an array needs, and puts numbers to them; `rules` draws findings. Begin with `advising`.
"""
