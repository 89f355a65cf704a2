"""What may be read, and with which options.

`policy` decides, from what `urls` parses; `address_guard` asks it again for each address of a
host. Begin with `policy`.
"""
