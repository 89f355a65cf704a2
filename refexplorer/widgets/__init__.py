"""Notebook hosts of the views: thin anywidgets around the controllers."""

from refexplorer.widgets.editor import TemplateEditor
from refexplorer.widgets.exercises import Exercises
from refexplorer.widgets.explorer import (
    ArrayPreview,
    ChunkGrid,
    Explorer,
    KeyInspector,
    KeyTree,
    TargetMap,
    explore,
)

__all__ = [
    "ArrayPreview",
    "ChunkGrid",
    "Exercises",
    "Explorer",
    "KeyInspector",
    "KeyTree",
    "TargetMap",
    "TemplateEditor",
    "explore",
]
