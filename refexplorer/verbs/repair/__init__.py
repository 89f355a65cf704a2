"""Repairing a set: the results of verifying it, turned into correct references and metadata.

Begin with `repairing`: `plan` creates a patch from a report and applies it, and `law`
decides which changes are forbidden.
"""
