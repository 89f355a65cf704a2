"""Bytes to documents and back."""
