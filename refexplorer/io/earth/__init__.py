"""Where on earth the values of an array are, by the CF conventions.

`georeferencing` finds what says so, `places` computes cells, finds the one of a point and calls
pyproj. Begin with `georeferencing`.
"""
