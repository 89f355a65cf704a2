"""JSON: parsed with a sentence where it breaks, and read in blocks where it is large.

`text` parses what is small and says what was meant where it breaks, `blocks` reads what is large;
`positions` finds a JSON pointer in the text. Begin with `text`.
"""
