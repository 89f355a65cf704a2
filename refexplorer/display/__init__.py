"""A set as plain text and as static HTML: what a terminal and a saved notebook show.

`text` and `html` show a set, `difference` and `inference` what came of comparing and inferring.
"""
