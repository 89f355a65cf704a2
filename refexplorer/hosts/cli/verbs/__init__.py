"""The commands: each module adds its own to the `app` of the program by being here.

`looking`, `explaining`, `making`, `checking` and `serving`, by what their commands do.
"""
