"""One item of ``gen`` as arithmetic: its count, the key of a number and the number of a key.

`item_parsing` reads an item, with `key_check` and `extents` for what may fail in it; `item` is the
item, over its `dimensions`. `GenItem.find` goes from a key to its number: `inversion` gives the
dimensions, by `digits`, and the key rendered from them is compared with the one that was asked for.
`runs` makes many references at once, in `blocks`. Begin with `item`.
"""
