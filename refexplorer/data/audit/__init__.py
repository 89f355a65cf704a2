"""Auditing large sets."""
