"""Every code of a finding: how severe it is, what it means and what to do, as in ``codes.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple


class Severity(StrEnum):
    """An error leaves something out; a warning keeps it; info is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class FindingCode(NamedTuple):
    """What there is to know about a code, in whole sentences; ``codes.toml`` says which is what."""

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


class CodeCatalogue(Mapping[str, FindingCode]):
    """All codes, read when the first one is asked for: a set without a finding needs none."""

    @cached_property
    def _codes(self) -> dict[str, FindingCode]:
        return {
            code: FindingCode(**fields | {"severity": Severity(fields["severity"])})
            for subject in _subjects().values()
            for code, fields in subject.items()
            if code != "title"
        }

    def __getitem__(self, code: str) -> FindingCode:
        return self._codes[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)


CODES = CodeCatalogue()


def titles() -> dict[str, str]:
    """Return the title of each subject."""
    return {name: subject["title"] for name, subject in _subjects().items()}


def codes_of(subject: str) -> tuple[str, ...]:
    """Return the codes of a subject, in order."""
    return tuple(code for code in _subjects()[subject] if code != "title")


@cache
def _subjects() -> dict[str, dict[str, Any]]:
    import tomllib  # takes 5 ms, and the text as long again

    return tomllib.loads(Path(__file__).with_name("codes.toml").read_text(encoding="utf-8"))
