"""Imports what stands further right in the rooms, when it is called.

`ReferenceSet.to_html` needs it: the page of a set is made of the widgets, which import the set.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def late_import(module: str, name: str) -> Any:
    """Return `name` of a module of this package, such as ``widgets.saved_page``."""
    return getattr(import_module(f"refexplorer.{module}"), name)
