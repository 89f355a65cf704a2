"""The house is one way, left to right, and its front door opens quickly."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, partial
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.helpers.measuring import least
from tests.helpers.sources import PACKAGE, imported, modules

TESTS = Path(__file__).parent
JOINED = {"__init__", "registry", "static_html"}
"""Modules of views that are no view."""
OF_ONE_FILE = {path.stem for path in (PACKAGE / "views").glob("*.py")} - JOINED
"""Views of one module, which nothing but the registry imports, or what stands right of them."""
ROOMS: dict[str, tuple[set[str], ...]] = {
    "": (
        {"core"},
        {"spec"},
        {"formats"},
        {"refset"},
        {"readers"},
        {"io"},
        {"checks"},
        {"verbs"},
        {"views"},
        {"hosts"},
    ),
    "views": (
        {"code"},
        {"wire"},
        {"preview", "text"},
        {"health"},
        {"geo", "maps"},
        {"editor"},
        {"exercises", "key", *OF_ONE_FILE},
        {"compare"},
        {"tree"},
        {"registry"},
        {"explorer"},
        {"static_html"},
        {"saved"},
    ),
    "hosts": ({"saved_page"}, {"notebook"}, {"assistant", "page", "xarray"}, {"schema"}, {"cli"}),
}
"""By package, what is in it from left to right: a module imports what stands left of its own room.

The page shares what widgets have, the commands start the page.
"""
BACK = {
    ("verbs/referenceset.py", "refexplorer.hosts.saved_page"),
    ("verbs/referenceset.py", "refexplorer.hosts.notebook.widgets"),
}
"""Imports from the right: `ReferenceSet.to_html` writes a page of widgets, `explore` shows one."""
DOORS = {"", "__main__", "errors", "types"}
"""The package itself and what is beside it re-export from every room, lazily."""
DEAREST = 4
"""Import against a bare start; 1.7 to 2.2 was measured, of which `typing` alone is 0.5."""
HEAVY = {"ipywidgets", "panel", "xarray", "zarr", "pandas"}
UNNEEDED = tuple(
    f"refexplorer.{name}"
    for name in (
        "checks.ledger", "formats.datafiles", "formats.finding", "formats.forms",
        "formats.icechunk", "io.access", "io.fetch", "readers.running", "refset.inference",
        "refset.writing", "verbs.joining", "views",
    )
)  # fmt: skip
"""Modules that the first print of a document does not use."""


def room_of(module: str, package: str = "") -> str:
    """Return the room of a package that a module lives in; ``""`` for the package itself."""
    return (
        module.removeprefix(f"refexplorer.{package}".rstrip("."))
        .partition(".")[2]
        .partition(".")[0]
    )


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Modules of this package that a module imports, wherever in its text it does."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in imported(modules()[path]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("refexplorer"))
        else:
            assert node.level == 0, f"{path} imports relatively"
            if node.module == "refexplorer":
                yield from (f"refexplorer.{alias.name}" for alias in node.names)
            elif node.module and node.module.startswith("refexplorer."):
                yield node.module


def may_import(room: str, other: str) -> bool:
    """Tell whether an arrow from `room` to `other` points left."""
    if room in DOORS or other in {room, "demo"}:
        return room in DOORS or room == other or room in {"views", "hosts"}
    return is_left(ROOMS[""], other, room)


def is_left(rooms: tuple[set[str], ...], one: str, other: str) -> bool:
    """Tell whether a room stands left of another."""
    places = {name: place for place, names in enumerate(rooms) for name in names}
    return one in places and places[one] < places.get(other, 0)


def backwards(path: Path) -> Iterator[str]:
    """Modules that a module imports against the order."""
    module = ".".join(("refexplorer", *path.relative_to(PACKAGE).with_suffix("").parts))
    room = room_of(module.removesuffix(".__init__"))
    yield from (name for name in imports(path) if not may_import(room, room_of(name)))
    for package in filter(None, ROOMS):
        start = f"refexplorer.{package}."
        if module.startswith(start) and path.name != "__init__.py":
            room = room_of(module, package)
            others = {name: room_of(name, package) for name in imports(path)
                      if name.startswith(start)}  # fmt: skip
            yield from (
                name
                for name, other in others.items()
                if other != room and not is_left(ROOMS[package], other, room)
            )


def test_rooms_import_from_their_left() -> None:
    found = {str(path.relative_to(PACKAGE)): [*backwards(path)] for path in modules()}
    assert len(found) > 200
    back = {(path, name) for path, names in found.items() for name in names} - BACK
    assert not back, "each may import from its left alone, in the order of ROOMS"


def test_no_module_imports_itself_by_others() -> None:
    """Inside a room no order is declared; what is imported in a body or for types alone may be."""
    names = {".".join(("refexplorer", *path.relative_to(PACKAGE).with_suffix("").parts)): path
             for path in modules()}  # fmt: skip
    needs = {name: _at_start(path) & names.keys() for name, path in names.items()}
    order = TopologicalSorter({name: found - {name} for name, found in needs.items()})
    order.prepare()  # CycleError names those of a circle


def _at_start(path: Path) -> set[str]:
    """Modules that a module imports when it is imported."""
    nodes = [node for node in ast.parse(modules()[path]).body if isinstance(node, ast.ImportFrom)]
    found = {node.module for node in nodes if node.module}
    return found | {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}


def test_every_package_says_what_is_in_it() -> None:
    """In its docstring, by the names of its modules, and where to begin."""
    for folder in {path.parent for path in modules() if path.parent != PACKAGE}:
        doc = ast.get_docstring(ast.parse(modules()[folder / "__init__.py"]))
        inside = [path for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()]
        names = {path.stem for path in inside} - {"__init__", "__pycache__"}
        assert doc, folder
        assert set(re.findall(r"`([a-z_]+)", doc)) & names or len(names) < 2, folder


def test_an_arrow_that_points_back_is_seen() -> None:
    assert may_import("views", "spec")
    assert not may_import("spec", "views")
    assert not may_import("views", "hosts")
    assert may_import("views", "demo")  # the exercises
    assert not may_import("io", "demo")


def test_tests_lie_where_what_they_test_lies() -> None:
    """A folder of tests inside a room has the name of a room inside it."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path()}
    rooms = {folder for folder in folders if (PACKAGE / folder.parts[0]).is_dir()}
    assert not [str(folder) for folder in rooms if not (PACKAGE / folder).is_dir()]
    assert rooms


def test_tests_share_by_helpers_alone() -> None:
    """No module imports from a module of tests, nor from a ``conftest``."""
    lending = re.compile(r"tests(\.\w+)*\.(test_\w+|conftest)")
    found = {
        f"{path.relative_to(TESTS)}: {name}"
        for path in TESTS.rglob("*.py")
        for name in _taken(path.read_text(encoding="utf-8"))
        if lending.fullmatch(name)
    }
    assert not found


def _taken(text: str) -> Iterator[str]:
    """Full names that a module may take from others, also in code that another process runs."""
    yield from re.findall(r"(?:^|[\"';]|\\n)\s*(?:from|import) ([\w.]+)", text, re.MULTILINE)
    for node in imported(text):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", ROOMS)
def test_every_room_is_known(package: str) -> None:
    folder = PACKAGE.joinpath(*package.split("."))
    outside = {"__init__"} if package else {"__init__", "demo", "frontend", *DOORS}
    found = {path.relative_to(folder).parts[0].removesuffix(".py")
             for path in modules() if path.is_relative_to(folder)}  # fmt: skip
    known = set().union(*ROOMS[package])
    assert found - outside == known, (
        f"in tests/test_rooms.py give each a place in ROOMS[{package!r}], right of what it imports"
    )


def test_import_loads_nothing_heavy() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import sys; import refexplorer; print(*sys.modules)"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert not HEAVY & set(run.stdout.split())


def test_the_engine_of_checks_loads_nothing_heavy() -> None:
    """Zarr or pandas would take longer than a check of a small set; what decodes loads Zarr."""
    code = "import sys; import refexplorer.checks.engine; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not HEAVY & set(run.stdout.split())


def test_opening_and_printing_a_document_load_only_what_they_need(tmp_path: Path) -> None:
    """Half of their time was importing: forms that no document has, checks that no print makes."""
    path = tmp_path / "set.json"
    path.write_text('{".zgroup": "{\\"zarr_format\\": 2}", "x": ["s3://b/f", 0, 1]}')
    code = f"import sys, refexplorer; str(refexplorer.open_references({str(path)!r}))"
    command = [sys.executable, "-c", f"{code}; print(*sys.modules)"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded = set(run.stdout.split())
    assert not loaded & {*HEAVY, "importlib.metadata", "subprocess", "tomllib"}
    assert not [name for name in loaded if name.startswith(UNNEEDED)]


def test_import_costs_little_beside_the_start_of_python() -> None:
    """Processor time, the least of some runs: numpy alone would take seven times as much."""
    resource = pytest.importorskip("resource")  # which Windows has not

    def seconds(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return float(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def is_little(times: list[float]) -> bool:
        bare, ours, numpy = times
        return ours < DEAREST * bare < numpy

    codes = ("pass", "import refexplorer", "import numpy")
    times = least([partial(seconds, code) for code in codes], is_little)
    assert is_little(times), times
