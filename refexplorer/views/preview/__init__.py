"""Values for a picture: which selection, its cost, read, scaled, thinned.

`preview` handles the requests. `axes` chooses a selection, `regions` parses one as typed, `values`
are read chunk by chunk and become a `picture`; `reading_model` is sent to the view, `netcdf`
creates a file. Begin with `preview`.
"""
