"""How large the house is, and how many rooms a key and a chunk pass: ``python -m tests.house``.

Printed at the end of a run of the whole suite; `tests/test_house.py` has the bounds.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import refexplorer as rx
from refexplorer import demo
from tests.helpers.sources import PACKAGE, modules

FRONTEND = PACKAGE / "frontend" / "src"
SET = "sst.v1.json"
VIEW = re.compile(r"[\"'./]costs?\b|\bCosts?\b|\b[cC]ost[_A-Z]\w+|\bcost_\w+")
"""Names of the one view whose files stand for those that a new view touches."""
VIEW_ROOMS = ("views", "hosts")


def measures() -> dict[str, int]:
    """Return all figures by name."""
    texts = modules().values()
    return {
        "Python modules": len(texts),
        "lines of Python": sum(text.count("\n") for text in texts),
        "lines of logic": sum(map(logic_count, texts)),
        "rooms: folders at the top level": sum(
            (folder / "__init__.py").exists() for folder in PACKAGE.iterdir()
        ),
        "rooms: modules at the top level": len(list(PACKAGE.glob("*.py"))),
        **walks(),
        "files that name the view `cost`": sum(1 for _ in view_files()),
        "front-end files": len(front_texts("ts", "tsx", "css")),
        "lines of TypeScript": sum(text.count("\n") for text in front_texts("ts", "tsx")),
        "lines of CSS": sum(text.count("\n") for text in front_texts("css")),
    }


def logic_count(text: str) -> int:
    """Count lines without docstrings, imports, signatures, comments and blanks; fields count."""
    passed: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                passed.update(range(first, last + 1))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                begin = min([first, *(each.lineno for each in node.decorator_list)])
                passed.update(range(begin, max(first + 1, node.body[0].lineno)))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(
        number not in passed and bool(line) and not line.startswith("#") for number, line in lines
    )


@cache
def front_texts(*kinds: str) -> tuple[str, ...]:
    """Return the texts of the front end, of some kinds of files."""
    paths = [path for kind in kinds for path in sorted(FRONTEND.rglob(f"*.{kind}"))]
    return tuple(path.read_text(encoding="utf-8") for path in paths)


def view_files() -> Iterator[Path]:
    """Yield the files that name one view: its own, and those that know of it."""
    paths = [path for path in modules() if path.relative_to(PACKAGE).parts[0] in VIEW_ROOMS]
    paths += [path for path in FRONTEND.rglob("*.*") if path.suffix in (".ts", ".tsx", ".css")]
    paths.append(PACKAGE / "__init__.pyi")
    yield from (path for path in paths if VIEW.search(path.read_text(encoding="utf-8")))


def walks() -> dict[str, int]:
    """Count modules in a process of its own, whose threads no other test has started."""
    script = "import json; from tests.house import walked; print(json.dumps(walked()))"
    command = [sys.executable, "-c", script]
    root = PACKAGE.parent
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    found: dict[str, int] = json.loads(run.stdout.splitlines()[-1])
    return found


def walked() -> dict[str, int]:
    """Count the modules that a chunk and a row pass, once others have had them imported."""
    from refexplorer.views.explorer.explorer_controller import ExplorerController

    path = demo.path(SET)
    with CallRecorder() as recorder:
        refs = rx.open_references(path)
        refs.chunk("sst", (0, 0, 0))
        chunk = recorder.during(lambda: refs.chunk("sst", (1, 0, 0)))
        row: set[str] = set()
        for _ in range(2):
            opened: list[rx.ReferenceSet] = []
            opening = recorder.during(lambda: opened.append(rx.open_references(path)))  # noqa: B023
            controller = ExplorerController(opened[0])  # makes all views, which no row passes
            request = {"id": "t:1", "op": "tree.rows", "start": 0, "n": 1}
            row = opening | recorder.during(lambda: controller.handle(request))  # noqa: B023
    return {
        "modules from reference to values": len(chunk),
        "modules from opening to the first row": len(row),
    }


class CallRecorder:
    """Notes the modules of ours of which functions are called, in all threads that it saw start."""

    def __init__(self) -> None:
        self._found: set[str] = set()

    def __enter__(self) -> CallRecorder:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def during(self, act: Callable[[], object]) -> set[str]:
        """Return the modules that an act passes."""
        found: set[str] = set()
        self._found = found
        act()
        self._found = set()
        return found

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            self._found.add(frame.f_code.co_filename)


def report_lines() -> list[str]:
    """Return the figures as lines."""
    return [f"{number:>8,}  {name}" for name, number in measures().items()]


if __name__ == "__main__":
    print("\n".join(report_lines()))  # noqa: T201
