"""JSON: read in blocks if it is large, with explanations of syntax errors.

`blocks` reads large documents, `positions` finds a JSON pointer in the text, `slips` explains
syntax errors; small documents are parsed by `formats.documents`. Begin with `blocks`.
"""
