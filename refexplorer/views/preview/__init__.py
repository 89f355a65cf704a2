"""Values for a picture: which part, what it costs, read, scaled, thinned.

`preview` answers the requests. `axes` choose a part, `regions` reads one as people write it,
`values` are read chunk by chunk and become a `picture`; `netcdf` makes a file of them. Begin with
`preview`.
"""
