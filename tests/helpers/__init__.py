"""Helpers for tests of several packages; test modules import from here, not from each other."""
