"""What is wrong with a reference set, said so that a learner understands it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """An error leaves a key out; a warning keeps it; info is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what, where, and what to do.

    Attributes
    ----------
    code
        Stable name, listed in `CATALOGUE`.
    severity
        See `Severity`.
    pointer
        JSON pointer (RFC 6901) into the document, or the path of a file of a parquet store.
    message, hint
        One sentence each; `hint` says what to write instead and may be empty.
    line, column
        Counted from 1; None where no text was given.
    count
        How many findings of this code stand behind this one; `pointer` is the first of them.
    """

    code: str
    severity: Severity
    pointer: str
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None
    count: int = 1

    def __str__(self) -> str:
        place = f"line {self.line}:{self.column}, " if self.line is not None else ""
        more = f" ({self.count - 1:,} more like this)" if self.count > 1 else ""
        hint = f" {self.hint}" if self.hint else ""
        return f"{self.severity} {self.code} at {place}{self.pointer or '/'}: {self.message}{hint}{more}"
