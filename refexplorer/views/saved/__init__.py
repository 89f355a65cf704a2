"""What a page without Python replays: the answers of an explorer or an editor, asked in advance.

Begin with `recording`, which asks for everything, as `recorded_editor` does of the template editor
and of an exercise with its answers; its `Recorder` asks and keeps, and writes all of it as bytes.
"""
