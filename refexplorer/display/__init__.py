"""A set as plain text and as static HTML: what a terminal and a saved notebook show.

`text` and `html` show a set, `shown_sets` finds one again for a button in its HTML, `difference`
and `inference` show what came of comparing and inferring.
"""
