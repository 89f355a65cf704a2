"""JSON: parsed with a sentence where it breaks, read in blocks where it is large, written.

`text` parses what is small, `block_reader` what is large, by `range_matching`. `slips` says what
was meant where it breaks; `positions` finds a JSON pointer in the text. `writer` makes text of
columns. Begin with `text`.
"""
