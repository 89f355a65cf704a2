"""Repairing a set: what verifying it found, turned into references and metadata that are right.

Begin with `repairing`: `plan` makes a patch of a report and applies it, and `law`
says what of it is forbidden.
"""
