"""What verifying a set found, put together from all its files.

`tally` counts and groups, `coordinates` looks at joined coordinates, `verification` is what people
hold.
"""
