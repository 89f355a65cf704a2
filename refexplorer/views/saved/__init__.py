"""What a page without Python replays: the answers of an explorer or an editor, asked in advance.

Begin with `recording`, which asks for everything, as `recorded_editor` does of the template editor
and `recorded_exercise` of an exercise with its answers; `recorder` asks and keeps, `recorded_tree`
walks the tree, `packing` writes what was kept as bytes.
"""
