"""What the extra `notebooks` installs is what the notebooks use, in Binder and on a machine."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

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


def installed(lines: list[str]) -> set[str]:
    """What an install of requirements brings, as far as it is installed here."""
    left = list(map(Requirement, lines))
    found, extras_seen = set[str](), set[tuple[str, str]]()
    while left:
        wanted = left.pop()
        name = normal(wanted.name)
        asked = {"", *wanted.extras} - {extra for of, extra in extras_seen if of == name}
        extras_seen |= {(name, extra) for extra in asked}
        found.add(name)
        try:
            below = [Requirement(each) for each in requires(name) or ()]
        except PackageNotFoundError:
            continue  # only for other systems
        left += [
            each
            for each in below
            if any(each.marker is None or each.marker.evaluate({"extra": it}) for it in asked)
        ]
    return found


def test_binder_installs_what_the_readme_names_for_the_notebooks() -> None:
    first, *more = REQUIREMENTS.read_text().splitlines()
    assert first == "-e .[notebooks]"
    assert "pip install -e '.[notebooks]'" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert [normal(line) for line in more] == ["jupyter-server-proxy"]


def test_the_notebooks_have_all_that_they_import() -> None:
    distributions = packages_distributions()
    used = {module for notebook in NOTEBOOKS for module in imported(notebook)}
    assert {"virtualizarr", "icechunk", "kerchunk", "h5py", "matplotlib"} <= used
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"]["notebooks"]
    there = installed([*project["dependencies"], *extra]) | {"refexplorer"}
    assert "fastparquet" not in there
    missing = {
        module
        for module in used - sys.stdlib_module_names
        if not {*map(normal, distributions.get(module, [module]))} & there
    }
    assert not missing
