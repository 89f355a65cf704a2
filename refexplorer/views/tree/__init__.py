"""The tree as rows on a screen, and a search that may be stopped.

`tree_controller` answers, `rows` finds the rows by arithmetic, and what a tree is narrowed to.
"""
