"""Where on earth the values of an array are, by the CF conventions.

`georeferencing` finds what says so, `places` computes cells and finds the one of a point, `points`
reads points as people write them, `projections` calls pyproj. Begin with `georeferencing`.
"""
