"""The wire between Python and the front end: requests, answers, jobs in threads.

A request is a method of a controller, which `requests` declares and answers; it has the kinds of
what is sent and their JSON, too. `jobs` runs what takes long. The controllers of an explorer share
a `context`, which makes models of diagnostics. Begin with `requests`.
"""
