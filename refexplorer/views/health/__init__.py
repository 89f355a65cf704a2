"""How the arrays of a set are: their chunks by state, rolled up and listed.

`health` counts, `health_controller` answers, also what files say of themselves; `time_axes` says
what time they cover.
"""
