"""``jinja-str``: parsed by jinja2, compiled by a whitelist, and computed under limits.

`compiler` says what a template means; `vectors` computes the same for many combinations at once.
Begin with `template`, then `compiler`.
"""
