"""One key: its reference, array, notes, bytes, derivation.

`inspector` shows it without a request, `key_details` is asked for more. Begin with `inspector`.
"""
