"""One item of ``gen`` as arithmetic: its count, the key of a number and the number of a key.

`parsing` reads an item; `item` is the item with its `dimensions`, and generates many references at
once. `GenItem.find` goes from a key to its number: `inversion` computes the dimensions, and the key
rendered from them is compared with the requested one. Begin with `item`.
"""
