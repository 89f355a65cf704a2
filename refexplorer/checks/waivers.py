"""Findings that a publisher accepts, and what of the ledger they excuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from refexplorer.checks.ledger import Ledger
from refexplorer.checks.states import CHUNK_TERMS, FILE_RANKS, FileState, LedgerState, Rank
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import array_text, escape
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import Finding, suggest

_CODES_OF_STATE = {
    LedgerState.OTHER_FILL: {"fill_value"},
    LedgerState.LACKING: {"no-reference", "lacking-object"},
    LedgerState.WRONG_VALUES: {"values", "held-values", "same-coordinate"},
    LedgerState.WRONG_RANGE: {"offset", "length", "other-array", "misplaced"},
    LedgerState.UNDECODABLE: {"unreadable", "undecodable-inline"},
    LedgerState.PAST_END: {"range-past-end"},
    LedgerState.DAMAGED_FILE: {"damaged-file"},
    LedgerState.UNREACHABLE: {"unreachable", "unreadable"},
}
"""The findings that say why chunks are in a bad state; of other states, any error of the array."""
_CODE_OF_FILES = {
    FileState.DAMAGED: "damaged-file",
    FileState.UNREACHABLE: "unreachable",
    FileState.CHANGED: "changed",
}


class Waiver(NamedTuple):
    """Findings of one code that do not fail a run: of one array, or of all."""

    code: str
    array: str | None = None

    @classmethod
    def parse(cls, text: str) -> Waiver:
        """Read ``"axis-gap"`` or ``"axis-gap:time"``.

        Raises
        ------
        RefexplorerError
            If there is no such code.
        """
        code, colon, array = text.partition(":")
        if code not in CODES:
            near = suggest(code, CODES, len(CODES))
            raise RefexplorerError(
                f"{escape(code, 100)!r} is not a code of a check.{near} "
                "Write CODE or CODE:ARRAY, such as no-reference:sst."
            )
        return cls(code, array.strip("/") if colon else None)

    def __str__(self) -> str:
        return self.code if self.array is None else f"{self.code} of {array_text(self.array)}"

    def has(self, finding: Finding) -> bool:
        """Return whether a finding is accepted."""
        return finding.code == self.code and self.array in (None, array_of(finding))


def array_of(finding: Finding) -> str:
    """Return the array that a finding is about, empty if it is about the set or several."""
    if finding.array or finding.is_spread:
        return finding.array
    return (finding.key or "").rpartition("/")[0]


def split(
    findings: Iterable[Finding], waivers: Sequence[Waiver]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the findings that count, and those that are accepted."""
    live: list[Finding] = []
    accepted: list[Finding] = []
    for each in findings:
        (accepted if any(waiver.has(each) for waiver in waivers) else live).append(each)
    return tuple(live), tuple(accepted)


class Excused:
    """What of a ledger counts as wrong once findings are accepted."""

    def __init__(self, ledger: Ledger, accepted: Iterable[Finding]) -> None:
        self.files: Counter[FileState] = Counter()
        self.chunks: Counter[LedgerState] = ledger.all_counts()
        codes: dict[str, set[str]] = {}
        for each in accepted:
            codes.setdefault(array_of(each), set()).add(each.code)
        self.codes = set[str]().union(*codes.values())
        for state, count in ledger.files.counts.items():
            known = FileState(state)
            if _CODE_OF_FILES.get(known) not in self.codes:
                self.files[known] = count
        for path, seen in codes.items():
            if path not in ledger.paths:
                continue
            has_error = any(CODES[code].severity is Severity.ERROR for code in seen)
            for chunk_state, count in ledger.counts(path).items():
                reasons = _CODES_OF_STATE.get(chunk_state)
                is_excused = has_error if reasons is None else bool(reasons & seen)
                if CHUNK_TERMS[chunk_state].rank is Rank.BAD and is_excused:
                    self.chunks[chunk_state] -= count
        self.chunks = +self.chunks

    @property
    def has_faults(self) -> bool:
        """Whether a chunk or a file is in a bad state that nobody accepted."""
        return any(CHUNK_TERMS[state].rank is Rank.BAD for state in self.chunks) or any(
            FILE_RANKS[state] is Rank.BAD for state, count in self.files.items() if count
        )


def accepted_text(accepted: Iterable[Finding]) -> str:
    """Return what was accepted, each code with its arrays: ``"axis-gap of `time`"``."""
    names: dict[Waiver, None] = {}
    for each in accepted:
        names[Waiver(each.code, array_of(each) or None)] = None
    found = [str(each) for each in names]
    return ", ".join(found[:3]) + (f" and {len(found) - 3:,} more" if len(found) > 3 else "")
