"""The sets that a notebook shows as HTML, by a name that a button of it hands back to the kernel.

HTML cannot call Python, and a widget in its place would be an error message wherever the kernel is
gone. So a button stands in the HTML, out of sight, with the name of the set; the extension of
JupyterLab (`frontend/src/lab`) shows it, and opens the explorer below. Until it is pressed nothing
is imported for it.
"""

from __future__ import annotations

import sys
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

_NAMES: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""No other kernel has these, so that none takes the button of another for its own."""


def name_of(references: object) -> str | None:
    """Return the name by which `shown_set` finds a set while it lives; None without a kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    return _NAMES.setdefault(references, uuid4().hex)


def shown_set(name: str) -> Any:
    """Return the set that was shown under a name."""
    for references, each in [*_NAMES.items()]:
        if each == name:
            return references
    raise KeyError(name)
