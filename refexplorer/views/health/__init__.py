"""How the arrays of a set are: their chunks by state, rolled up and listed.

`health` counts, `state_keys` lists the chunks of a state, `health_controller` answers.
"""
