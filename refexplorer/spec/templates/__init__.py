"""``jinja-str``: parsed by jinja2, filtered by a whitelist, and evaluated under limits.

`parsing` produces the `syntax` that everything else uses; `template` defines its meaning; `columns`
evaluates it for many combinations at once. Begin with `template` and `syntax`.
"""
