"""Search for keys by substring, glob or regular expression, in columns.

`key_search` goes through a set; `pattern_matching` and `literals` make few keys of many.
"""
