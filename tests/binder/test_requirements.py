"""What `binder/` installs is what the notebooks use: no cell says that something is missing."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
REQUIREMENTS = ROOT / "binder" / "requirements.txt"


def normal(name: str) -> str:
    """The name of a distribution as others are compared with it, without its versions."""
    found = re.match(r"[A-Za-z0-9._-]+", name)
    assert found is not None, name
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def imported(notebook: Path) -> Iterator[str]:
    """The modules that the code of a notebook imports, at the top or in a branch."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        lines = "".join(cell["source"]).splitlines()
        if cell["cell_type"] != "code":
            continue
        for node in ast.walk(ast.parse("\n".join(line for line in lines if line[:1] not in "%!"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.partition(".")[0]


def installed() -> set[str]:
    """What an install of the requirements brings, as far as it is installed here."""
    lines = [line.strip() for line in REQUIREMENTS.read_text().splitlines()]
    assert lines[0] == "-e ."
    left, found = ["refexplorer", *lines[1:]], set[str]()
    while left:
        name = normal(left.pop())
        if name in found:
            continue
        found.add(name)
        try:
            left += [each for each in requires(name) or () if "extra ==" not in each]
        except PackageNotFoundError:
            continue  # only for other systems
    return found


def test_the_notebooks_have_all_that_they_import() -> None:
    distributions = packages_distributions()
    used = {module for notebook in NOTEBOOKS for module in imported(notebook)}
    assert {"virtualizarr", "icechunk", "kerchunk", "h5py"} <= used
    there = installed()
    missing = {
        module
        for module in used - sys.stdlib_module_names
        if not {*map(normal, distributions.get(module, [module]))} & there
    }
    assert not missing
