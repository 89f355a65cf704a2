"""JSON: read in blocks where it is large, and explained where it breaks.

`blocks` reads what is large, `positions` finds a JSON pointer in the text, `slips` says what is
wrong where a text is no JSON; what is small is parsed by `formats.documents`. Begin with `blocks`.
"""
