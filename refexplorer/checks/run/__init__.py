"""Doing a run: parts, in threads or on a cluster (`crew`), and their `results` on disk."""
