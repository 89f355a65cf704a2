"""One item of ``gen`` as arithmetic: its count, the key of a number and the number of a key.

`parsing` reads an item; `item` is the item, over its `dimensions`, and makes many references at
once. `GenItem.find` goes from a key to its number: `inversion` gives the dimensions, and the key
rendered from them is compared with the one that was asked for. Begin with `item`.
"""
