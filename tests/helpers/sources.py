"""The text of modules, and what they import, for tests that look at all of them.

To parse the whole package takes one to two seconds, whatever is sought; a search of its text takes
a tenth of one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import refexplorer

PACKAGE = Path(refexplorer.__file__).parent
IMPORT = re.compile(
    r"^[ \t]*((?:from[ \t]+[\w.]+[ \t]+)?import\b[ \t]*(?:\([^)]*\)|[^\n\"';#]+))", re.MULTILINE
)


@cache
def modules() -> dict[Path, str]:
    """Text of each module of the package, in order."""
    inside = [path for path in PACKAGE.iterdir() if path.name != "frontend"]  # node_modules
    paths = [path for path in inside if path.suffix == ".py"]
    paths += [path for folder in inside for path in folder.rglob("*.py")]
    return {path: path.read_text(encoding="utf-8") for path in sorted(paths)}


def imported(text: str) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements of a module, wherever in its text they stand."""
    for statement in IMPORT.findall(text):
        (node,) = ast.parse(statement).body
        assert isinstance(node, ast.Import | ast.ImportFrom)
        yield node
