"""Diagnostics of a reference set, and their collection while it is read."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from itertools import islice
from json import dumps
from typing import Any

from refexplorer.core.errors import PickledError
from refexplorer.core.text import counted, masked_text, shorten
from refexplorer.spec.codes import CODES, Severity

SHOWN_PER_CODE = 1_000  # Diagnostics of one code and one array that are kept one by one
HINTS_PER_CODE = 20  # Hints of one code that are computed: each compares a name with all others
_KEPT_PER_CODE = 50_000  # The same for all arrays; beyond it, further arrays are counted together
TOGETHER = 4  # Diagnostics of one code that people are shown as one group, from this number on
_READABLE_COLUMN = 200  # Columns beyond it do not help: kerchunk writes a set as one line

Hint = str | Callable[[], str]  # The remedy, or a function that returns it when it is shown
Locator = Callable[[str], tuple[int, int] | None]  # From a pointer to line and column, if known


class Problem(PickledError):
    """An error that prevents one value from being read; it becomes a finding."""

    def __init__(self, code: str, message: str, hint: Hint = "") -> None:
        super().__init__(message)
        self.code, self.late_hint = code, hint

    @property
    def hint(self) -> str:
        """One sentence with the remedy; may be empty."""
        return self.late_hint if isinstance(self.late_hint, str) else self.late_hint()


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: what, where, and the remedy.

    Attributes
    ----------
    code
        Stable name, from `refexplorer.spec.codes`.
    severity
        See `Severity`.
    pointer
        JSON pointer (RFC 6901) into the document, or the path of a file of a parquet store.
    message, hint
        One sentence each; `hint` says what to write instead and may be empty.
    line, column
        Counted from 1; None if no text was given.
    count
        The number of findings of this code that this one represents; `pointer` is the first.
    key
        The key, if the finding is about one.
    is_spread
        Whether the others may be in other arrays; if not, all are in one folder.
    array
        The path of the array, if known; always given for comparisons with files.
    keys, reference_count
        The keys of the first affected chunks, and how many there are; None if unknown.
    files, file_count
        The URLs of the first affected files, and how many there are.
    ours, theirs
        The value in the set and in the files, if it is a single value.
    """

    code: str
    severity: Severity
    pointer: str
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None
    count: int = 1
    key: str | None = None
    is_spread: bool = False
    array: str = ""
    keys: tuple[str, ...] = ()
    reference_count: int | None = None
    files: tuple[str, ...] = ()
    file_count: int = 0
    ours: str | None = None
    theirs: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", shorten(masked_text(self.message)))
        object.__setattr__(self, "hint", shorten(masked_text(self.hint)))

    def __repr__(self) -> str:
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        parts = (f"{name}={shorten(masked_text(repr(value)))}" for name, value in values)
        return f"{type(self).__name__}({', '.join(parts)})"

    def __str__(self) -> str:
        return f"{self.severity} {self.code} at {self.place}: {self.sentence}"

    @property
    def id(self) -> str:
        """An identifier that is the same in every run, whatever the order of the keys."""
        array = self.array or _folder_of(self.pointer, self.key)
        known = "\0".join((self.code, array, self.ours or "", self.theirs or ""))
        return sha256(known.encode(errors="surrogatepass")).hexdigest()[:16]

    @property
    def remedy(self) -> str:
        """The remedy for findings of this code."""
        return CODES[self.code].mend

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON values."""
        return {"id": self.id, **asdict(self)}

    @property
    def place(self) -> str:
        """The pointer as people write it, preceded by line and column if these are useful."""
        is_one_line = self.line == 1 and (self.column or 0) > _READABLE_COLUMN
        column = "" if self.column is None else f":{self.column}"
        where = "" if self.line is None or is_one_line else f"line {self.line}{column}, "
        return f"{where}{shorten(written(self.pointer))}"

    @property
    def sentence(self) -> str:
        """Message and hint, and how many similar findings there are."""
        more = f"({self.count - 1:,} more like this)" if self.count > 1 else ""
        return " ".join(filter(None, (self.message, self.hint, more)))


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for rejecting one value; a finding once its pointer is known."""

    # code, message: As of a `Finding`
    code: str
    message: str
    hint: Hint = ""  # The same, or a function that returns it

    @classmethod
    def of(cls, problem: Problem) -> Reason:
        """Keep the text of a problem, without the objects in its traceback."""
        return cls(problem.code, str(problem), problem.late_hint)

    def finding(self, pointer: str, key: str) -> Finding:
        """Return the finding for a key whose value is at a pointer."""
        hint = self.hint if isinstance(self.hint, str) else self.hint()
        severity = CODES[self.code].severity
        return Finding(self.code, severity, pointer, self.message, hint, key=key)


@dataclass(frozen=True, slots=True)
class DiagnosticGroup:
    """The diagnostics of one code, as displayed."""

    # code, severity: Of all of them
    code: str
    severity: Severity
    diagnostics: tuple[Finding, ...]  # In order, at least one

    @property
    def count(self) -> int:
        """The number of findings in the group."""
        return sum(diagnostic.count for diagnostic in self.diagnostics)

    @property
    def is_long(self) -> bool:
        """Whether their common text is shown once, instead of for each of them."""
        return len(self.diagnostics) >= TOGETHER

    @property
    def title(self) -> str:
        """Their common text, and their number."""
        meaning = CODES[self.code].meaning
        return f"{self.severity} {self.code}, {self.count:,} times: {meaning}"


def grouped(diagnostics: Iterable[Finding]) -> list[DiagnosticGroup]:
    """Group diagnostics by code and severity, in order of first occurrence."""
    found: dict[tuple[str, Severity], list[Finding]] = {}
    for diagnostic in diagnostics:
        found.setdefault((diagnostic.code, diagnostic.severity), []).append(diagnostic)
    return [DiagnosticGroup(code, severity, tuple(of)) for (code, severity), of in found.items()]


class Findings:
    """Collects diagnostics: for each code and array some are kept, the others counted."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}
        self._shown: dict[tuple[str, str], int] = {}
        self._kept: dict[str, int] = {}
        self._last: dict[tuple[str, str], tuple[str, str]] = {}

    def add(
        self,
        code: str,
        pointer: str,
        message: str,
        hint: Hint = "",
        *,
        key: str | None = None,
        array: str = "",
        count: int = 1,
        is_error: bool = False,
        together: bool = False,
    ) -> None:
        """Add a finding; those of one array, or `together` of one message, are counted as one."""
        # A hint that has to be computed is only computed for the findings kept. Findings with the
        # same code in the same array are counted; with `together`, those with the same message,
        # wherever they are.
        identity = (code, message if together else pointer)
        group = (code, "" if together else _folder_of(pointer, key))
        is_spread = together
        if identity not in self._found and self._kept.get(code, 0) >= _KEPT_PER_CODE:
            if group not in self._last:
                group, is_spread = (code, _OTHERS), True
            identity = self._last.get(group, identity)
        elif identity not in self._found and self._shown.get(group, 0) >= SHOWN_PER_CODE:
            identity = self._last[group]
        if identity in self._found:
            seen = self._found[identity]
            self._found[identity] = replace(seen, count=seen.count + count)
            return
        self._kept[code] = self._kept.get(code, 0) + 1
        self._shown[group] = self._shown.get(group, 0) + 1
        self._last[group] = identity
        if not isinstance(hint, str):
            hint = hint() if self._kept[code] <= HINTS_PER_CODE else ""
        severity = Severity.ERROR if is_error else CODES[code].severity
        known: Any = {"count": count, "key": key, "is_spread": is_spread, "array": array}
        self._found[identity] = Finding(code, severity, pointer, message, hint, **known)

    def extend(self, others: Findings) -> None:
        """Add the findings of another collection."""
        for found in others:
            is_error, known = found.severity is Severity.ERROR, (found.pointer, found.message)
            self.add(
                found.code, *known, found.hint,
                count=found.count, is_error=is_error, together=found.is_spread,
                key=found.key, array=found.array,
            )  # fmt: skip

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found.values())

    def freeze(self, locate: Locator | None = None) -> tuple[Finding, ...]:
        """Return the findings, errors first, with line and column if known."""
        found = in_order(self)
        return found if locate is None else tuple(placed(each, locate) for each in found)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings, errors first, otherwise in the same order."""
    order = list(Severity)
    return tuple(sorted(findings, key=lambda found: order.index(found.severity)))


def severities_text(findings: Iterable[Finding]) -> str:
    """Return how many findings of each severity are listed; one may represent similar ones."""
    counts = Counter(each.severity for each in findings)
    parts = (
        counted(counts[each], "note" if each is Severity.INFO else str(each))
        for each in Severity
        if counts[each]
    )
    return ", ".join(parts) or "none"


_OTHERS = "\n"  # Represents all folders beyond those counted separately


def _folder_of(pointer: str, key: str | None) -> str:
    """Return the folder of a finding: the array, for chunks and its metadata."""
    place = pointer.replace("~1", "/") if key is None else key
    return place.rpartition("/")[0]


def placed(diagnostic: Finding, locate: Locator) -> Finding:
    """Return a finding with line and column, if known."""
    line, column = locate(diagnostic.pointer) or (None, None)
    return diagnostic if line is None else replace(diagnostic, line=line, column=column)


def pointer(*parts: str | int) -> str:
    """Format a JSON pointer (RFC 6901): ``pointer("refs", "x/0") == "/refs/x~10"``."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def parts_of(pointer: str) -> list[str]:
    """Return the names and indices in a JSON pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


_SECTIONS = frozenset({"refs", "templates", "gen", "version", ".zmetadata"})


def written(pointer: str) -> str:
    """Return a pointer as people write it: ``written("/refs/x~10") == 'refs["x/0"]'``.

    A key of V0 is quoted, the root is ``/``, and the path of a file stays as it is.
    """
    start, _, rest = pointer.partition("/")
    if not rest or start not in ("", ".zmetadata"):
        return pointer or "/"
    first, *parts = parts_of(f"/{start}/{rest}" if start else pointer)
    names = [first if first in _SECTIONS else dumps(first, ensure_ascii=False)]
    for depth, part in enumerate(parts):
        is_index = part.isdecimal() and (depth > 0 or first not in _SECTIONS - {"gen"})
        names.append(f"[{part if is_index else dumps(part, ensure_ascii=False)}]")
    return "".join(names)


COMPARED = 100  # Most names that are compared: a file may contain any number of them
_LONGEST = 40  # characters; a longer name is not a typo, and takes too long to compare


def suggest(name: str, known: Iterable[str], most: int = COMPARED) -> str:
    """Return a hint with the nearest of the first known names; ``""`` if none is near."""
    if len(name) > _LONGEST:
        return ""
    compared = [other for other in islice(known, most) if len(other) <= _LONGEST]
    near = difflib.get_close_matches(name, compared, 1)
    return f"Did you mean `{near[0]}`?" if near else ""
