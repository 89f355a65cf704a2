"""Two parts of arrays side by side, of one set or of two, and their difference.

`beside_controller` answers the requests, `gaps` says whether two parts lie on the same grid and
subtracts them. Begin with `beside_controller`.
"""
