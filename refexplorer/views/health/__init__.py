"""How the arrays of a set are: their chunks by state, rolled up and listed.

`health` counts, `state_keys` lists the chunks of a state, `health_controller` answers.
`time_ranges` says what time they cover, by `time_axes` or by names of targets.
`files_compared` compares the set with what its files say of themselves.
"""
