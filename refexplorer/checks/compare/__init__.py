"""Comparison of a set with one of its files (`files`): ranges, `placing`, `metadata`, `values`."""
