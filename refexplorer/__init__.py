"""Look into reference sets: browse, explain, preview and edit what kerchunk and others write.

Names are loaded when they are first used, so that ``import refexplorer`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refexplorer.converting import Conversion, convert
    from refexplorer.differing import Difference, diff
    from refexplorer.errors import (
        AccessError,
        DecodeError,
        FetchError,
        InternalError,
        LeftOutWarning,
        LimitError,
        RefexplorerError,
        SourceError,
        SpecError,
    )
    from refexplorer.inferring import Inference, infer
    from refexplorer.limits import Limits
    from refexplorer.opening import dialects, expand, open_references
    from refexplorer.referenceset import ReferenceSet
    from refexplorer.spec.core.diagnostics import Diagnostic
    from refexplorer.spec.core.references import Base64, Inline, Kind, Range, Reference, Url
    from refexplorer.spec.dialects import Dialects
    from refexplorer.spec.schema import schema
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

__version__ = "0.1.0"

_ROOMS = {
    "refexplorer.converting": ("Conversion", "convert"),
    "refexplorer.differing": ("Difference", "diff"),
    "refexplorer.errors": (
        "AccessError",
        "DecodeError",
        "FetchError",
        "InternalError",
        "LeftOutWarning",
        "LimitError",
        "RefexplorerError",
        "SourceError",
        "SpecError",
    ),
    "refexplorer.inferring": ("Inference", "infer"),
    "refexplorer.limits": ("Limits",),
    "refexplorer.opening": ("dialects", "expand", "open_references"),
    "refexplorer.referenceset": ("ReferenceSet",),
    "refexplorer.spec.core.diagnostics": ("Diagnostic",),
    "refexplorer.spec.dialects": ("Dialects",),
    "refexplorer.spec.schema": ("schema",),
    "refexplorer.spec.core.references": ("Base64", "Inline", "Kind", "Range", "Reference", "Url"),
    "refexplorer.widgets.editor": ("TemplateEditor",),
    "refexplorer.widgets.exercises": ("Exercises",),
    "refexplorer.widgets.explorer": (
        "ArrayPreview",
        "ChunkGrid",
        "Explorer",
        "KeyInspector",
        "KeyTree",
        "TargetMap",
        "explore",
    ),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "AccessError",
    "ArrayPreview",
    "Base64",
    "ChunkGrid",
    "Conversion",
    "DecodeError",
    "Diagnostic",
    "Dialects",
    "Difference",
    "Exercises",
    "Explorer",
    "FetchError",
    "Inference",
    "Inline",
    "InternalError",
    "KeyInspector",
    "KeyTree",
    "Kind",
    "LeftOutWarning",
    "LimitError",
    "Limits",
    "Range",
    "Reference",
    "ReferenceSet",
    "RefexplorerError",
    "SourceError",
    "SpecError",
    "TargetMap",
    "TemplateEditor",
    "Url",
    "convert",
    "dialects",
    "diff",
    "expand",
    "explore",
    "infer",
    "open_references",
    "schema",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'refexplorer' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
