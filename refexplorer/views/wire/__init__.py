"""The wire between Python and the front end: models, answers, jobs in threads.

`models` and its siblings are the messages, `answering` turns a request into answers, `jobs` runs
what takes long. Begin with `answering`.
"""
