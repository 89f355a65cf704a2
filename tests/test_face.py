"""What people meet first: the names of the package, and the members of a `ReferenceSet`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path

import refexplorer as rx
from refexplorer.refset.queries.internals import Internals

PACKAGE = Path(rx.__file__).parent
PYTHON = (PACKAGE / "reference" / "PYTHON.md").read_text(encoding="utf-8")


def public(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def test_a_set_shows_what_is_documented_and_nothing_else() -> None:
    refs = rx.open_references({"x/0": "a"})
    _, _, attributes = (inspect.getdoc(rx.ReferenceSet) or "").partition("Attributes\n----------")
    documented = {
        *re.findall(r"^(\w+)$", attributes, re.MULTILINE),
        *re.findall(r"^### ReferenceSet\.(\w+)$", PYTHON, re.MULTILINE),
        *public(Mapping),
    }
    assert public(refs) == documented
    assert not public(refs) & public(Internals)


def test_a_set_is_one_class() -> None:
    own = [base for base in rx.ReferenceSet.__mro__ if base.__module__.startswith("refexplorer")]
    assert own == [rx.ReferenceSet]
