"""The health of the arrays of a set: their chunks by state, summed and listed.

`health` counts, `health_controller` handles requests, also about the files' own metadata;
`time_axes` finds the times that arrays cover.
"""
