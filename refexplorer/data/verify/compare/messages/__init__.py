"""The messages of GRIB files, which know no array and no index, against a set.

`messages_compared` compares a file; `message_places` says where a message belongs.
"""
