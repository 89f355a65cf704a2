"""One item of ``gen`` as arithmetic: its count, the key of a number and the number of a key.

`item` is the item; `inversion` leads from a key back to its dimensions, by `digits`; `runs` makes
many references at once, block by block. Begin with `item`.
"""
