"""The places that may be read, and the options for each.

`policy` decides, from what `urls` parses; `address_guard` asks it again for each address of a
host. Begin with `policy`.
"""
