"""The commands: each module adds its own to the `app` of the program by being here.

`looking` (ls, info, expand), `explaining` (find, explain, why, advise, dialects, schema), `making`
(convert, infer, diff), `checking` (check, audit, verify, repair), `serving` (serve, page, demo).
"""
