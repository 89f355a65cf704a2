"""The commands: each module here adds its own to the `app` of the program.

The modules are `looking`, `explaining`, `making`, `checking` and `serving`.
"""
