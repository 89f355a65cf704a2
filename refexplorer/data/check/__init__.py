"""Targets asked what they are, without reading what is in them.

`checking` asks all, `asking` one; `journal` lets a check go on later.
"""
