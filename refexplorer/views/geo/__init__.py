"""An array on the map of the earth.

`map_controller` answers the requests, `coordinates_read` reads what says where an array is, `land`
has the coastlines. Begin with `map_controller`.
"""
