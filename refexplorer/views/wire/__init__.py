"""Communication between Python and the front end: requests, responses, jobs in threads.

A request is a method of a controller, declared and dispatched by `requests`, which also defines the
message types and their JSON. `jobs` runs slow work. The controllers of an explorer share a
`context`, which creates models of diagnostics. Begin with `requests`.
"""
