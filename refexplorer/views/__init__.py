"""The views, independent of their host: one record and one controller for each, frozen models.

What all of them use: `wire` (messages, jobs, the other set), `code` (Python for what was done) and
`text`. The views of the explorer are the rooms `overview`, `versions`, `health`,
`tree`, `key`, `preview`, `maps`, `geo`, `compare` and `cost`; `explorer` joins them.
`editor` and `exercises` have the page to themselves. `static_html` is what a
saved notebook shows, `saved` asks in advance what a page without Python answers. The `registry` has
a record of each. Begin with `registry`.
"""
