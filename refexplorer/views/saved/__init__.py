"""Recordings for a page without Python: the responses of an explorer or an editor.

Begin with `recording`, which requests everything from an explorer; `recorded_editor` does so for
the template editor and for an exercise; its `Recorder` keeps the responses, and writes them as
bytes.
"""
