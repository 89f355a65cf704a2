"""The wire between Python and the front end: requests, answers, jobs in threads.

A request is a method of a controller, which `operations` declares and answers; events are of the
kinds in `messages`, `notes` makes models of diagnostics. `json_form` makes JSON, `answering` what
is sent, `jobs` runs what takes long. The controllers of an explorer share a `context` and its
`failure_log`. Begin with `operations`.
"""
