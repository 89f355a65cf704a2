"""The text of a document for an editor: diagnostics, quick fixes, help.

`positions` counts UTF-16 units like editors, `fixes` offers changes. Begin with `fixes`.
"""
