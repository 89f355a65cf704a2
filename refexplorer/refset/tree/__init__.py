"""The keys as folders: numbered in the order of a walk, each level put in order when shown.

`folders` is the tree, `level` one level of it, `nodes` its rows. Begin with `folders`.
"""
