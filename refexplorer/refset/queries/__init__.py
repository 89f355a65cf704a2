"""Queries about a whole set: counts, the derivation of a key, keys that were removed.

`summary`, `derivation` and `removal`, each by itself; `internals` has what they ask, for the code
of this package that goes through all keys. Begin with `summary`.
"""
