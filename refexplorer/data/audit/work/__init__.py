"""Doing the parts of an audit: ask the targets, compare sizes, decode a sample.

`auditor` does one part, `running` has threads or a cluster do all.
"""
