"""The verbs: each module adds its own to the `app` of `refexplorer.cli.program`.

Begin with `set_commands`, which are the shortest.
"""
