"""Values for a picture: which part, what it costs, read, scaled, thinned.

`preview` answers the requests. `axes` choose a part, `regions` reads one as people write it,
`values` are read chunk by chunk and become a `picture`; `reading_model` is what is
sent of them, `netcdf` makes a file. Begin with `preview`.
"""
