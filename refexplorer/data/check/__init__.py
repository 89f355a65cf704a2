"""The engine that asks targets what they are, and a check of all of them without reading any.

Begin with `asking`: it asks many targets at a time and compares ranges with their sizes, for
`checking` as well as for an audit. A check lists the targets of a set in memory, has one record for
each of them, and keeps it in a `journal`; an audit goes on to the references and the chunks.
"""
