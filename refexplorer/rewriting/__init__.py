"""Sets that are rewritten, and read back before they get their name.

Begin with `conversion`, which says how a set is to be written, and `converting`, which does it;
`rechunking` changes what is written, `repairing` finds what to write and returns a `repair_result`.
"""
