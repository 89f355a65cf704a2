"""Private attributes of other packages: none is used but those listed with a reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

import refexplorer

ROOT = Path(refexplorer.__file__).parent
KNOWN = {
    # fsspec names its coroutines so; its documentation ("Async") says that they may be called
    "_cat_file", "_info",
    # s3fs and gcsfs give ETag and bytes of one request no other way; tests/io/fetch/test_s3.py
    "_call_s3", "_call", "_error_wrapper",
    # icechunk: the storage of a session is in its pickle alone; tests/formats/icechunk
    "_session",
    # Panel's components: how its documentation has them say what they run
    "_bundle",
    # asyncio lists both in `asyncio.events.__all__`, for those who write an event loop
    "_get_running_loop", "_set_running_loop",
    # threading: `atexit` comes after threads are waited for; tests/io/reading/test_interrupted.py
    "_register_atexit",
    # documented: of named tuples, of rich displays, of the operating system, of type checkers
    "_asdict", "_replace", "_fields", "_repr_html_", "_exit", "_typeshed",
}  # fmt: skip


def own_names(tree: ast.AST) -> Iterator[str]:
    """Names that a module gives to functions and to attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def private_names(tree: ast.AST) -> Iterator[str]:
    """Private names that a module takes from others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            yield "" if of_self else node.attr
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("refexplorer"):
            yield from (node.module or "").split(".")
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            yield str(getattr(node.args[1], "value", ""))


def test_no_private_attribute_of_another_package_is_used_without_a_reason() -> None:
    found = set()
    for path in ROOT.rglob("*.py"):
        if "node_modules" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        found |= {*private_names(tree)} - {*own_names(tree)}
    private = {name for name in found if name.startswith("_") and not name.startswith("__")}
    own = {"_controller"}  # of this package, asked for by name
    assert private - own <= KNOWN, private - own - KNOWN
    assert private >= KNOWN, KNOWN - private
