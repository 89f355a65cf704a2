"""Notebook hosts of the views: thin anywidgets around the controllers."""

from refexplorer.widgets.editor import TemplateEditor
from refexplorer.widgets.explorer import Explorer, explore

__all__ = ["Explorer", "TemplateEditor", "explore"]
