"""Repairing a set: what verifying it found, turned into references and metadata that are right.

Begin with `plan`: what all files together say. `metadata_written` and `applied` make the new set
of it, `remedies` says what to do about the rest.
"""
