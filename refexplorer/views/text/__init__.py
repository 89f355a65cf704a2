"""The text of a document as an editor needs it: positions, diagnostics, quick fixes, help.

`text_positions` counts as editors do, `fixes` offers changes. Begin with `editor_diagnostics`.
"""
