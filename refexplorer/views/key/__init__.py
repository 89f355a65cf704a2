"""One key: its reference, array, notes, bytes, derivation.

`inspector` describes it without a request, `key_details` returns more. Begin with `inspector`.
"""
