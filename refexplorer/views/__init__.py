"""The views, independent of their host: one record and one controller for each, frozen models.

Rooms from left to right: `wire`, then `preview`, `maps`, `text`, `editor`, `key`, `overview`,
`tree`, `exercises`, `snapshots` for where no script runs, the `registry` of all views, and
`explorer`. Begin with `registry`.
"""
