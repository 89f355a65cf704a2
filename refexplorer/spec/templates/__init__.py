"""``jinja-str``: parsed by jinja2, lowered by a whitelist, and computed under limits.

`parsing` makes the `syntax` that everything else reads; `template` says what it means; `columns`
computes the same for many combinations at once. Begin with `template` and `syntax`.
"""
