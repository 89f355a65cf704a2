"""The wire between Python and the front end: models, answers, jobs in threads.

`explorer`, `editor` and `page_messages` are the messages, by view, of the kinds in `messages`, and
`models` what several of them hold; `notes` makes such models of diagnostics. `json_form` makes JSON
of models, `schema` the types of the front end. `answering` turns a request into answers, `jobs`
runs what takes long. The controllers of an explorer share a `context` and its `failure_log`. Begin
with `answering`.
"""
