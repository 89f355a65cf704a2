"""One engine for every check: what was checked, what was found, and which claims this supports.

Begin with `ledger`: every chunk, key, object of a file and file ends in one state of `states`, and
the states add up to totals that were obtained in another way. `headlines` puts a headline, the
coverage and an exit status on top of it, which never say more than the ledger does.
"""
