"""The views, independent of their host: one record and one controller for each, frozen models.

All views use `wire` (messages, jobs, the other set), `code` (Python for actions) and `text`. A view
of the explorer is a module, like `versions`, or a package, like `tree`, that defines an
`ExplorerPart`; the `registry` finds these, and `explorer` combines them. `editor` and `exercises`
have a page of their own. `static_html` is shown by a saved notebook, `saved` records the responses
for a page without Python. Begin with `registry`.
"""
