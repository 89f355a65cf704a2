"""The tree as rows on a screen, and a search that may be stopped.

`tree_controller` answers, `visible_rows` finds the rows by arithmetic, `timed_search` those that
match, `trouble` and `changed_keys` what a tree is narrowed to.
"""
