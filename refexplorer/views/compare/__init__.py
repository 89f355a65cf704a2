"""The set next to another one.

Begin with `compare_controller`; `chunk_values` reads one chunk in both sets, `beside` all values.
"""
