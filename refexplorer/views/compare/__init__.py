"""The set beside another one.

Begin with `compare_controller`; `chunk_values` reads one chunk in both sets, `other_chunks` makes
what reads the other one.
"""
