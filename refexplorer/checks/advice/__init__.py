"""What reading will cost, known before a byte is read, and what would make it cheaper.

`requests` turns chunks into requests as each reader of `connections` merges them; `selections` says
which chunks a part of an array needs; `costs` puts numbers to them, `rules` draws findings. Begin
with `advising`.
"""
