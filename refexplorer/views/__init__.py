"""The views, independent of their host: one record and one controller for each, frozen models.

What all of them use: `wire` (messages, jobs, the other set), `code` (Python for what was done) and
`text`. A view of the explorer is a module, as `versions`, or a room, as `tree`, with an
`ExplorerPart` in its text; the `registry` finds these, and `explorer` joins them.
`editor` and `exercises` have the page to themselves. `static_html` is what a
saved notebook shows, `saved` asks in advance what a page without Python answers. Begin with
`registry`.
"""
