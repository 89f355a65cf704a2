"""The template editor: V1 text in, the V0 table of the last valid text out.

Begin with `editor_controller`; the other modules implement its requests.
"""
