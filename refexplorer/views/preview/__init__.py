"""Values for a picture: which part, what it costs, read, scaled, thinned.

`reader` answers the requests. `first_look` chooses a part, `regions` reads one as people write it,
by the `coordinates` and their `labels`. `preview` reads it, chunk by chunk by `region_reader` and
the `chunk_cache`, and makes `values` of it, or a `picture` of `blocks`, with its `channels` if it
has colours. `outcomes` is what a reading says of itself, `take` makes files of it, `libraries`
loads what takes long. Begin with `reader`.
"""
