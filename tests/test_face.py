"""What people meet first: the names of the package, and the members of a `ReferenceSet`."""

from __future__ import annotations

import inspect
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.refset.opened_set import Internals
from tests.helpers.sources import PACKAGE, modules

STUBS = ("__init__", "types")


def public(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def types_of(text: str) -> Iterator[str]:
    """Names of the classes that a module defines, and of its type aliases."""
    yield from re.findall(r"^\s*class (\w+)[:(]", text, re.MULTILINE)
    for name, value in re.findall(r"^(_?[A-Z]\w*[a-z]\w*) = (.*)", text, re.MULTILINE):
        if "Var(" not in value and "ParamSpec(" not in value:
            yield name


def test_a_type_has_a_name_of_its_own() -> None:
    """A private one, too: `_Reader` beside a `Reader` is read as the same."""
    found = Counter(name.lstrip("_") for text in modules().values() for name in types_of(text))
    assert found["ReferenceSet"] == found["AuditWatch"] == 1  # a class, and an alias
    twice = {name for name, times in found.items() if times > 1}
    assert not twice, "a class of another module has that name: choose another one"


def test_the_docstrings_of_the_public_face_keep_the_rules() -> None:
    """Those of numpydoc, as ruff knows them; other modules need none of its sections."""
    stubs = [(PACKAGE / f"{name}.pyi").read_text(encoding="utf-8") for name in STUBS]
    names = set(re.findall(r"^from \.([\w.]+) import", "".join(stubs), re.MULTILINE))
    paths = [PACKAGE.joinpath(*name.split(".")).with_suffix(".py") for name in sorted(names)]
    assert len(paths) > 30
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--extend-select", "D"]
    command += ["--extend-ignore", "D105,D107"]  # magic methods
    ran = subprocess.run([*command, *paths], cwd=PACKAGE.parent, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_names_of_the_package_are_those_of_its_stub() -> None:
    for module, name in zip((rx, rx.types), STUBS, strict=True):
        stub = (PACKAGE / f"{name}.pyi").read_text(encoding="utf-8")
        assert dir(module) == module.__all__ == sorted(re.findall(r"\b(\w+) as \1\b", stub))
    assert not {*rx.__all__} & {*rx.types.__all__, *rx.errors.__all__}
    namespace: dict[str, object] = {}
    exec("from refexplorer import *", namespace)
    assert namespace.keys() - {"__builtins__"} == set(rx.__all__)
    with pytest.raises(AttributeError, match="nosuch"):
        rx.nosuch  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"is refexplorer\.errors\.SourceError"):
        rx.SourceError  # type: ignore[attr-defined]  # noqa: B018


def test_what_people_see_first_is_short() -> None:
    """What they call; classes of results are in `types`."""
    assert len(dir(rx)) <= 23


def test_public_names_travel_to_another_process() -> None:
    """A pickle names the module of a class, which need not be imported there."""
    names = {name: rx for name in rx.__all__ if name not in ("errors", "types")}
    names |= {name: rx.types for name in rx.types.__all__ if name != "Reference"}  # a union
    written = pickle.dumps({name: getattr(module, name) for name, module in names.items()})
    code = (
        "import pickle, sys; found = pickle.load(sys.stdin.buffer); import refexplorer as rx; "
        "home = lambda name: rx if name in rx.__all__ else rx.types; "
        "print(all(value is getattr(home(name), name) for name, value in found.items()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], input=written, capture_output=True)
    assert ran.stdout == b"True\n", ran.stderr.decode()


def test_what_methods_return_is_exported() -> None:
    """Of a set, and of what opens, compares and converts sets."""
    functions = [value for name in rx.__all__ if inspect.isfunction(value := getattr(rx, name))]
    for name, member in _members().items():
        if not name.startswith("_"):
            functions.append(getattr(member, "fget", getattr(member, "func", member)))
    returned = {
        name
        for function in functions
        for name in re.findall(r"(?<!\.)\b[A-Z]\w+", function.__annotations__["return"])
    }
    assert {"Page", "Reading", "Report"} < returned  # among others
    assert returned - {*rx.__all__, *rx.types.__all__} == {"Any", "Iterator", "None", "V0Value"}


def test_a_set_shows_what_is_documented_and_nothing_else() -> None:
    refs = rx.open_references({"x/0": "a"})
    _, _, attributes = (inspect.getdoc(rx.ReferenceSet) or "").partition("Attributes\n----------")
    documented = {
        *re.findall(r"^(\w+)$", attributes, re.MULTILINE),
        *(name for name, member in _members().items() if name[0] != "_" and member.__doc__),
        *public(Mapping),
    }
    assert public(refs) == documented
    assert not public(refs) & public(Internals)


def _members() -> dict[str, Any]:
    """Members of a set, also of the classes that it is made of."""
    own = [base for base in rx.ReferenceSet.__mro__ if base.__module__.startswith("refexplorer")]
    return {name: member for base in own for name, member in vars(base).items()}
