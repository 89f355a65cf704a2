"""The text of a document as an editor needs it: diagnostics, quick fixes, help.

`positions` counts as editors do, `fixes` offers changes. Begin with `fixes`.
"""
