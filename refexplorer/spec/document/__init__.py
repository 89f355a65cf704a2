"""A whole document, version 0 or 1: read, expanded to version 0, explained.

`model` reads it, `expansion` writes it out, `derivation` has the steps of a key. What the
specification allows and people regret: `lint_rules` of keys and URLs, `array_rules`,
`attribute_rules` and `link_rules` of metadata; `refexplorer.refset.lint` asks them of a set, and
has the rules that take several references. Begin with `model`.
"""
