"""The wire between Python and the front end: requests, answers, jobs in threads.

A request is a method of a controller, which `operations` declares and answers. Those of views that
are not written so yet have a struct in `explorer` or `editor`, of the kinds in `messages`; `models`
are what several of them hold, `notes` makes such models of diagnostics. `json_form` makes JSON,
`answering` what is sent, `jobs` runs what takes long. The controllers of an explorer share a
`context` and its `failure_log`. Begin with `operations`.
"""
