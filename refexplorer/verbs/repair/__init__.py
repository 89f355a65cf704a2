"""Repairing a set: what verifying it found, turned into references and metadata that are right.

Begin with `repairing`: `plan` is the patch that a report gives, `patched` applies it, and `law`
says what of it is forbidden.
"""
