"""JSON: parsed with a sentence where it breaks, and read in blocks where it is large.

`blocks` reads what is large, `positions` finds a JSON pointer in the text; what is small is
parsed by `formats.documents`. Begin with `blocks`.
"""
