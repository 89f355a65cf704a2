"""DMR++: OPeNDAP's description of a data file in XML, with the byte range of each chunk.

`xml` reads the text without entities and under limits, `reading` makes references of it.
"""
