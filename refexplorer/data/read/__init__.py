"""Chunks as values with what became of them: fetched, no reference, failed.

`chunk_reader` reads one, `ladder` decodes it a step at a time, `estimates` says what it costs.
"""
