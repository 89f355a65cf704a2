"""Files on disk: opened compressed or plain under a limit, and written whole or not at all.

`compression` reads, `atomic` writes under a `write_lock`, `local_files` says who may open which.
"""
