"""The places that may be read, and the options for each.

`policy` decides, from what `urls` parses. Begin with `policy`.
"""
