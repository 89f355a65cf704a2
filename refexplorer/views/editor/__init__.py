"""The template editor: V1 text in, the V0 table of the last good text out.

`editor_controller` answers; the other modules are what one may ask it. Begin there.
"""
