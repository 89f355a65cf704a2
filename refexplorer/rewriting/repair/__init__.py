"""Repairing a set: what verifying it found, turned into references and metadata that are right.

Begin with `plan`: the patch that a report gives. `patched` applies it, `law` says what of it is
forbidden, `remedies` what to do about the rest.
"""
