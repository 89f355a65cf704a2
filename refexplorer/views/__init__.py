"""What is shown, without saying where: one controller for each view, frozen models.

Rooms from left to right: `wire`, then `preview`, `maps`, `text`, `editor`, `key`, `tree`,
`exercises`, `explorer`, and `snapshots` for where no script runs. Begin with
`explorer.explorer_controller`.
"""
