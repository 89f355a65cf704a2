"""Questions to a whole set: counts, how a key came about, which keys went away.

`summary`, `explaining` and `removal`, each by itself; `internals` has what they ask, for the code
of this package that goes through all keys. Begin with `summary`.
"""
