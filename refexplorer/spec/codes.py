"""The specification as data: codes of findings, its rules, and its JSON Schemas.

``codes.toml`` has the severity, meaning and remedy of every code; ``rules.toml`` has the rules of
the reference specification, cited by exercises and its page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from refexplorer.core.errors import RefexplorerError

SPECIFICATION = "https://fsspec.github.io/kerchunk/spec.html"
VERSIONS = (0, 1)


class Severity(StrEnum):
    """An error makes something unreadable, a warning may make it wrong, info is a remark."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class FindingCode(NamedTuple):
    """The explanation of a code, in whole sentences; ``codes.toml`` explains the fields."""

    severity: Severity
    meaning: str
    example: str
    cause: str
    mend: str
    command: str = ""
    readers: str = ""
    rule: str = ""
    predicate: str = ""
    is_of_chunks: bool = False

    @property
    def has_set(self) -> bool:
        """Whether the example is JSON: a set, or the files of a store by name."""
        return self.example.startswith(("{", "["))


class SpecRule(NamedTuple):
    """One rule; `example` is a set that follows it, empty if JSON cannot show it."""

    section: str
    sentence: str
    example: str = ""

    @property
    def link(self) -> str:
        """The link to the specification."""
        return f"{SPECIFICATION}#{self.section.lower().replace(' ', '-')}"


T = TypeVar("T")


class LazyTables(Mapping[str, T]):
    """Tables of a file, read on demand: a set without findings needs none."""

    def __init__(self, read: Callable[[], dict[str, T]]) -> None:
        self._read = cache(read)

    def __getitem__(self, name: str) -> T:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


@cache
def _tables(name: str) -> dict[str, dict[str, Any]]:
    import tomllib  # takes 5 ms, and parsing another 5 ms

    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


def _codes() -> dict[str, FindingCode]:
    return {
        code: FindingCode(**fields | {"severity": Severity(fields["severity"])})
        for subject in _tables("codes").values()
        for code, fields in subject.items()
        if code != "title"
    }


CODES = LazyTables(_codes)
RULES = LazyTables(lambda: {name: SpecRule(**rule) for name, rule in _tables("rules").items()})


def titles() -> dict[str, str]:
    """Return the title of each subject."""
    return {name: subject["title"] for name, subject in _tables("codes").items()}


def codes_of(subject: str) -> tuple[str, ...]:
    """Return the codes of a subject, in order."""
    return tuple(code for code in _tables("codes")[subject] if code != "title")


def schema(version: int = 1) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of V0 or V1.

    Raises
    ------
    RefexplorerError
        If the specification has no such version.
    """
    if version not in VERSIONS:
        raise RefexplorerError(f"There is a JSON Schema of V0 and of V1, but not of V{version}.")
    path = Path(__file__).with_name(f"schema.v{version}.json")
    return json.loads(path.read_text(encoding="utf-8"))
