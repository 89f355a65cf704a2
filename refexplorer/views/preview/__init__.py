"""Values for a picture: which part, what it costs, read, scaled, thinned.

`reader` answers the requests, `region_reader` reads chunk by chunk, `take` makes files of
it. Begin with `reader`.
"""
