"""The wire between Python and the front end: models, answers, jobs in threads.

`explorer` and `editor` are the messages, by view, and `models` what several of them hold;
`answering` turns a request into answers, `jobs` runs what takes long. Begin with `answering`.
"""
