"""The results of a check of targets."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from refexplorer.checks.look.audit_states import TARGET_WORDS, TargetState
from refexplorer.checks.report_page import report_page, write_report
from refexplorer.core.masking import masks_repr
from refexplorer.core.text import code, counted, escape, shown, size_text, table

_SHOWN = 200  # rows of the HTML table
_URL_SHOWN = 120  # characters of a URL: a file may hold any text


_INSIDE = "with all ranges inside the file"
_WHOLE = "that answered, referenced as whole files"
_ANSWERED = "that answered, ranges not compared"
_CHANGED = "that changed since references to it were written"
_WORDS = (_INSIDE, _WHOLE, _ANSWERED, *TARGET_WORDS.values(), _CHANGED)
"""In the order of the summary."""
_FINE = (TargetState.GOOD, TargetState.UNWRITTEN)
_REACHED = (TargetState.GOOD, TargetState.SHORT, TargetState.CHANGED)


@masks_repr
@dataclass(frozen=True, slots=True)
class TargetCheck:
    """The result of checking one target.

    Attributes
    ----------
    url
        As in the references; None is the target that the reader names.
    state
        ``short`` if a range reaches past the end, ``not allowed`` if it was not asked, ``changed``
        if its version is not the one that Icechunk recorded with a reference.
    end
        Where the last range ends, in bytes; None if it is not known.
    references
        How many keys refer to it.
    past_end
        How many ranges reach past its end; None if they were not compared with its size.
    key
        A key whose range reaches past the end.
    size
        In bytes; None if it is not known.
    etag, modified
        What the store says that changes with the content.
    message
        What is wrong or worth knowing, in a sentence.
    grant
        What to pass in ``allow=`` so that it is asked.
    unchanged
        Whether its version is the one that was recorded with every reference; None if none was, or
        it was not compared.
    """

    url: str | None
    state: TargetState
    end: int | None
    references: int
    past_end: int | None = None
    key: str | None = None
    size: int | None = None
    etag: str | None = None
    modified: str | None = None
    message: str | None = None
    grant: str | None = None
    unchanged: bool | None = None

    def but(self, **changes: Any) -> TargetCheck:
        """Return the record with some fields changed."""
        return replace(self, **changes)

    @property
    def words(self) -> str:
        """The results in some words."""
        if self.state is TargetState.GOOD:
            if self.end == 0:
                return _WHOLE
            return _ANSWERED if self.past_end is None or self.size is None else _INSIDE
        if self.state is TargetState.CHANGED:
            return _CHANGED
        return TARGET_WORDS[self.state]

    def __str__(self) -> str:
        name = escape(self.url or "(the target that the reader names)", _URL_SHOWN)
        size = "size not known" if self.size is None else size_text(self.size)
        said = f": {escape(self.message)}" if self.message else ""
        return f"{name}, {size}, {self.words}{said}"


@masks_repr
@dataclass(frozen=True)
class TargetChecks(Sequence[TargetCheck]):
    """A record for each target that was checked, in the order of the set.

    Attributes
    ----------
    source
        The name of the set.
    records
        The targets.
    total
        How many targets the set has; more than there are records if the check was stopped.
    unlisted
        Generated keys that were too many to be looked at one by one.
    left_out
        Targets of theirs, at most, that were too many to be asked.
    """

    source: str
    records: tuple[TargetCheck, ...]
    total: int
    unlisted: int = 0
    left_out: int = 0

    @overload
    def __getitem__(self, place: int) -> TargetCheck: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[TargetCheck, ...]: ...
    def __getitem__(self, place: int | slice) -> TargetCheck | tuple[TargetCheck, ...]:
        return self.records[place]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[TargetCheck]:
        return iter(self.records)

    @property
    def good(self) -> bool:
        """Whether all targets answered and no range that was compared reaches past the end of one.

        Nothing of the targets was read; see `summary` for what was not compared.
        """
        states = {record.state for record in self.records}
        return len(self.records) == self.total and states <= {*_FINE}

    @property
    def has_errors(self) -> bool:
        """Whether a target is not as the references say; one that may not be asked is unknown."""
        return any(record.state not in (*_FINE, TargetState.FORBIDDEN) for record in self.records)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the targets to a page that needs nothing else.

        Raises
        ------
        SourceError
            If it cannot be written.
        """
        title = f"Targets of {shown(self.source)}"
        write_report(path, report_page(title, self._repr_html_()))

    @property
    def summary(self) -> str:
        """How many targets are in which state, in a sentence."""
        found = Counter(record.words for record in self.records)
        parts = [f"{found[words]:,} {words}" for words in _WORDS if found[words]]
        if left := self.total - len(self.records):
            parts.append(f"{left:,} not checked")
        said = f"{counted(self.total, 'target')}: {', '.join(parts) or 'nothing to check'}."
        if any(record.state in _REACHED for record in self.records):
            said += f" Only {self._compared} were compared; no data was read or decoded."
        if self.unlisted:
            said += f" {counted(self.unlisted, 'generated key')} were too many to be evaluated"
            said += (
                f", as were up to {counted(self.left_out, 'further target')} of theirs."
                if self.left_out
                else " one by one; their targets were checked."
            )
        return said

    @property
    def _compared(self) -> str:
        versions = sum(record.unchanged is not None for record in self.records)
        return f"sizes, and {counted(versions, 'recorded version')}," if versions else "sizes"

    def __str__(self) -> str:
        """Tell the summary, then what is not as it should be, then the rest."""
        first, more = self._first()
        return "\n".join([f"{escape(self.source)}, {self.summary}", *map(str, first), *more])

    def _repr_html_(self) -> str:
        first, more = self._first()
        head = ("Target", "State", "Size", "References", "Modified", "What to know")
        title = f"<p><b>{shown(self.source)}</b>, {shown(self.summary)}</p>"
        rest = "".join(f"<p>{said}</p>" for said in more)
        return f'<div class="refexplorer">{title}{table(head, map(_cells, first))}{rest}</div>'

    def _first(self) -> tuple[list[TargetCheck], list[str]]:
        """Return the targets to show, the bad before the good, and how many others there are."""
        ordered = sorted(self.records, key=lambda record: record.state is TargetState.GOOD)
        more = [f"… {len(ordered) - _SHOWN:,} more"] if len(ordered) > _SHOWN else []
        return ordered[:_SHOWN], more


def _cells(record: TargetCheck) -> tuple[str, ...]:
    return (
        code(record.url, _URL_SHOWN) if record.url else "(the reader names it)",
        shown(record.words),
        "not known" if record.size is None else size_text(record.size),
        f"{record.references:,}",
        shown(record.modified or ""),
        shown(record.message or ""),
    )
