"""Questions to a whole set: counts, how a key came about, which keys went away.

`summary`, `explaining` and `removal`, each by itself.
"""
