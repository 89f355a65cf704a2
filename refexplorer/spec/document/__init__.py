"""A whole document, version 0 or 1: read, expanded to version 0, explained.

`model` reads it, `expansion` writes it out, `explanation` tells how a key came about, and
`lint_rules` are what the specification allows and people regret. Begin with `model`.
"""
