"""The verbs besides those of `refexplorer.cli.commands`: each module adds its own to its `app`.

Begin with `set_commands`, which are the shortest.
"""
