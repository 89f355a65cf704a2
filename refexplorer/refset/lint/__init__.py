"""The lint rules, asked of columns: only odd rows reach Python.

`linting` runs them; the rules for grids, ranges and URLs have a module each.
"""
