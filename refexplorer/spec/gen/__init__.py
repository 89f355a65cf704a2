"""One item of ``gen`` as arithmetic: how many keys, which key has a number, which number a key.

`item` is the item; `inversion` leads from a key back to its dimensions, by `digits`; `runs` makes
many references at once, block by block. Begin with `item`.
"""
