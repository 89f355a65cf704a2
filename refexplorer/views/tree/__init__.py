"""The tree as rows on a screen, and a cancellable search.

`tree_controller` handles requests, `rows` computes the rows, also of a filtered tree.
"""
