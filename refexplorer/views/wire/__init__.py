"""The wire between Python and the front end: requests, answers, jobs in threads.

A request is a method of a controller, which `requests` declares and answers; `messages` are the
kinds of what is sent and its JSON, `jobs` runs what takes long. The controllers of an explorer
share a `context`; `notes` makes models of diagnostics. Begin with `requests`.
"""
