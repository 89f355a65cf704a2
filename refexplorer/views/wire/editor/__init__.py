"""The messages of the template editor and its exercises: begin with `editor_messages`.

`row_messages` are about the table, `rule_messages` about codes, rules and other readers.
"""
