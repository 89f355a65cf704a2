"""Headline, coverage and exit status that a ledger and its findings justify."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from refexplorer.checks.ledger import Ledger
from refexplorer.checks.states import (
    CHUNK_TERMS,
    DIFFERENT,
    FILE_RANKS,
    FileState,
    KeyState,
    LedgerState,
    ObjectState,
    Rank,
)
from refexplorer.checks.terms import CheckLook, CheckTerms, Waiver, array_of
from refexplorer.core.text import counted, escape
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import Finding, severities_text

LACKING_CODES = frozenset({"no-reference", "lacking-object", "left-out"})
"""Findings about parts of files that the set lacks; what it has may still be correct."""
UNOPENABLE_CODES = frozenset({"no-root", "bad-root"})
UNREAD_CODES = frozenset({"damaged-file", "unreachable"})
STALE_CODES = frozenset({"changed"})
NAMED = 3  # Objects that the coverage names with their reasons
_GRAVEST_FIRST = list(Severity)


class Claim(StrEnum):
    """The possible headlines of a run; the first that applies is used."""

    UNBALANCED = "unbalanced"
    UNOPENABLE = "unopenable"
    DIFFERS = "differs"
    STALE = "stale"
    ERRORS = "errors"
    INCOMPLETE = "incomplete"
    UNKNOWN = "unknown"
    SAME_IN_PART = "same-in-part"
    SAME_BUT_OWN = "same-but-own"
    SAME = "same"
    AUDITED = "audited"
    CHECKED = "checked"
    NOTED = "noted"
    ACCEPTED = "accepted"


_GOOD_CLAIMS = frozenset(
    {Claim.SAME_IN_PART, Claim.SAME_BUT_OWN, Claim.SAME, Claim.AUDITED, Claim.CHECKED}
)


@dataclass(frozen=True)
class Headline:
    """The result of a run in one line, and its exit status.

    Attributes
    ----------
    kind
        See `Claim`.
    text
        Without a full stop.
    status
        0: everything requested was checked and no finding reaches the threshold; 1: a finding
        does; 2: a requested result is unknown.
    """

    kind: Claim
    text: str
    status: int


def headline(
    ledger: Ledger,
    findings: Sequence[Finding],
    terms: CheckTerms,
    accepted: Sequence[Finding] = (),
    more_unknown: Sequence[str] = (),
) -> Headline:
    """Return the first headline that applies; accepted findings are named and do not fail."""
    # `more_unknown` lists further requested results that are unknown.
    if faults := ledger.faults():
        return Headline(
            Claim.UNBALANCED, f"internal fault: the counts do not add up ({faults[0]})", 2
        )
    unknown = [*more_unknown, *unknowns(ledger, terms)]
    excused = Excused(ledger, accepted)
    failing = [each for each in findings if reaches(each.severity, terms.threshold)]
    kind, text = _kind_and_text(ledger, findings, terms, unknown, excused)
    is_good = kind in _GOOD_CLAIMS
    if is_good and failing:
        kind, text = Claim.NOTED, f"has {severities_text(failing)}; {text}"
    elif is_good and any(each.severity is Severity.ERROR for each in accepted):
        kind, text = Claim.ACCEPTED, "no errors other than those accepted"
    if accepted:
        text += f" (accepted: {accepted_text(accepted)})"
    status = 1 if failing or excused.has_faults else 2 if unknown else 0
    return Headline(kind, text, status)


def reaches(severity: Severity, threshold: Severity) -> bool:
    """Return whether a finding is at least as severe as a threshold."""
    return _GRAVEST_FIRST.index(severity) <= _GRAVEST_FIRST.index(threshold)


def _kind_and_text(
    ledger: Ledger,
    findings: Sequence[Finding],
    terms: CheckTerms,
    unknown: Sequence[str],
    excused: Excused,
) -> tuple[Claim, str]:
    errors = {found.code for found in findings if found.severity is Severity.ERROR}
    counts = excused.chunks
    wrong = {state for state in counts if CHUNK_TERMS[state].rank is Rank.BAD}
    wrong -= {LedgerState.LACKING}
    if errors & UNOPENABLE_CODES:
        return Claim.UNOPENABLE, "xarray cannot open it"
    differs = {code for code in errors if code in CODES and CODES[code].predicate}
    differs -= LACKING_CODES | UNREAD_CODES
    if (changed := _files(excused, FileState.CHANGED)) and errors <= STALE_CODES:
        return Claim.STALE, f"is stale: {changed} changed"
    if terms.asks(CheckLook.FILES) and (differs or wrong & DIFFERENT):
        return Claim.DIFFERS, "differs from its files"
    if unread := _files(excused, FileState.DAMAGED, FileState.UNREACHABLE):
        return Claim.ERRORS, f"has errors: {unread} cannot be read"
    if errors - LACKING_CODES or wrong:
        return Claim.ERRORS, "has errors"
    is_accepted = excused.codes & LACKING_CODES and not errors & LACKING_CODES
    if (lacking := _lacking_text(ledger, counts, errors)) and not is_accepted:
        return Claim.INCOMPLETE, f"incomplete: its files have {lacking} that it lacks"
    if unknown:
        return Claim.UNKNOWN, f"not known: {', '.join(unknown)}"
    if terms.asks(CheckLook.FILES):
        return _same(ledger, counts, terms)
    if terms.asks(CheckLook.TARGETS):
        return Claim.AUDITED, _audited_text(ledger, counts, terms)
    files = "only coordinates of its files were read" if terms.reads_coordinates else (
        "its chunks were not read" if terms.is_of_file else "its files were not opened"
    )  # fmt: skip
    what = "its references" if terms.is_of_file else "the set itself"
    return Claim.CHECKED, f"no errors in {what}; {files}"


def _files(excused: Excused, *states: FileState) -> str:
    """Return the number of files in the given states as text; empty if there are none."""
    number = sum(excused.files[state] for state in states)
    return counted(number, "file") if number else ""


def _same(ledger: Ledger, counts: Counter[LedgerState], terms: CheckTerms) -> tuple[Claim, str]:
    """Return how far a set without faults or unknowns matches its files."""
    share = f"in share {terms.share} of it, " if terms.share else ""
    if not sum(ledger.files.counts.values()):
        holes = counted(counts[LedgerState.HOLE], "chunk has", "chunks have")
        is_full = not counts[LedgerState.HOLE]
        values = "all values are inline" if is_full else f"{holes} no reference"
        return Claim.SAME_BUT_OWN, f"{share}{values}: it refers to no file"
    objects = ledger.objects
    taken = set(objects.names(ObjectState.IN_SET, ObjectState.EQUAL))
    missing = set(objects.names(ObjectState.NOT_TAKEN, ObjectState.LEFT_OUT)) - taken
    if missing:
        k, n = len(taken), len(taken | missing)
        return (
            Claim.SAME_IN_PART,
            f"{share}the same as its files in {k:,} of {n:,} variables; others are not in it",
        )
    own = [
        path
        for path in ledger.paths
        if (found := ledger.counts(path)) and set(found) <= {LedgerState.OWN, LedgerState.HOLE}
        and ledger.total(path)
    ]  # fmt: skip
    alone = counts[LedgerState.OWN] + counts[LedgerState.HOLE]
    alone -= sum(ledger.total(path) for path in own)
    parts = []
    if held := [path for path in own if ledger.counts(path).get(LedgerState.OWN)]:
        parts.append(f"{counted(len(held), 'array is', 'arrays are')} in the set only")
    if alone:
        parts.append(f"{counted(alone, 'chunk has', 'chunks have')} no file")
    if ledger.overlapping:
        chunks = counted(ledger.overlapping, "chunk of a file is", "chunks of files are")
        parts.append(f"{chunks} not in it, because files overlap")
    if ledger.by_length:
        chunks = counted(ledger.by_length, "chunk was", "chunks were")
        parts.append(f"{chunks} compared by length only")
    if single := len(ledger.of_one_file):
        arrays = counted(single, "variable was", "variables were")
        parts.append(f"{arrays} compared with one file only")
    if undecoded := len(ledger.undecoded):
        arrays = counted(undecoded, "variable was", "variables were")
        parts.append(f"{arrays} compared as encoded bytes, which no installed codec decodes")
    if parts:
        return Claim.SAME_BUT_OWN, f"{share}the same as its files; {', '.join(parts)}"
    return Claim.SAME, f"{share}the same as its files"


def _lacking_text(ledger: Ledger, counts: Counter[LedgerState], errors: set[str]) -> str:
    """Return what the files contain and the set lacks; empty if nothing."""
    states = [ObjectState.LACKING]
    if "left-out" in errors:
        states.append(ObjectState.LEFT_OUT)
    parts = []
    if names := ledger.objects.names(*states):
        parts.append(counted(len(names), "variable"))
    if chunks := counts[LedgerState.LACKING]:
        parts.append(counted(chunks, "chunk"))
    if not parts and errors & LACKING_CODES:
        parts.append("values")
    return " and ".join(parts)


def unknowns(ledger: Ledger, terms: CheckTerms) -> Iterator[str]:
    """Yield the unknown requested results, in words that follow "not known:"."""
    if not terms.asks(CheckLook.TARGETS):
        return
    words = {
        FileState.NOT_ALLOWED: ("is not allowed yet", "are not allowed yet"),
        FileState.DENIED: ("was not read: access is denied", "were not read: access is denied"),
        FileState.FORMAT_UNKNOWN: ("has a format that cannot be compared",
                                   "have formats that cannot be compared"),
        FileState.LIBRARY_MISSING: ("needs a package that is not installed",
                                    "need packages that are not installed"),
        FileState.TOO_COSTLY: ("exceeds a limit", "exceed a limit"),
        FileState.UNTOUCHED: ("was not looked at", "were not looked at"),
    }  # fmt: skip
    explained = False
    for state, (one, many) in words.items():
        if number := ledger.files.counts[state]:
            explained = True
            yield f"{counted(number, f'file {one}', f'files {many}')}"
    unread = ledger.objects.counts[ObjectState.UNREAD]
    if unread and terms.asks(CheckLook.FILES):
        yield f"{counted(unread, 'object of the files', 'objects of the files')} cannot be read"
    counts = ledger.all_counts()
    if unlisted := ledger.keys.counts[KeyState.UNLISTED]:
        explained = True
        yield f"{counted(unlisted, 'generated key was', 'generated keys were')} not listed"
    if lacking := counts[LedgerState.NO_CODEC]:
        needs = "chunk needs", "chunks need"
        yield f"{counted(lacking, *needs)} a codec or data type that is not installed"
    asked = {
        LedgerState.UNTOUCHED,
        LedgerState.REFERENCED,
        LedgerState.NOT_ALLOWED,
        LedgerState.UNREAD_FILE,
    }
    if terms.asks(CheckLook.FILES):
        asked |= {LedgerState.FILES_UNREAD, LedgerState.UNCOVERED}
        asked |= {LedgerState.HELD, LedgerState.INSIDE}  # not looked at closely enough
    not_chosen = sum(ledger.unchosen.values())
    untouched = counts[LedgerState.UNTOUCHED] + counts[LedgerState.REFERENCED] - not_chosen
    left = sum(counts[state] for state in asked) - not_chosen - ledger.by_length
    if left and (untouched or not explained):
        verb = "compared" if terms.asks(CheckLook.FILES) else "checked"
        yield f"{counted(untouched or left, 'chunk was', 'chunks were')} not {verb}"


def _audited_text(ledger: Ledger, counts: Counter[LedgerState], terms: CheckTerms) -> str:
    inside = counts[LedgerState.INSIDE] + counts[LedgerState.DECODED] - ledger.decoded_inline
    answered = sum(ledger.files.counts.values())
    if inside:
        text = f"all {inside:,} ranges are inside their files"
        text = "its 1 range is inside its file" if inside == 1 else text
    elif answered:
        text = counted(answered, "file") + " answered"
    else:
        text = "it refers to no file"
    if terms.asks(CheckLook.DECODE) and (inside or counts[LedgerState.DECODED]):
        text += f"; {counted(counts[LedgerState.DECODED], 'chunk decodes', 'chunks decode')}"
    return f"in share {terms.share} of it, {text}" if terms.share else text


_CODES_OF_STATE = {
    LedgerState.OTHER_FILL: {"fill_value"},
    LedgerState.LACKING: {"no-reference", "lacking-object"},
    LedgerState.WRONG_VALUES: {"values", "held-values", "same-variable"},
    LedgerState.WRONG_RANGE: {"offset", "length", "other-array", "misplaced"},
    LedgerState.UNDECODABLE: {"unreadable", "undecodable-inline"},
    LedgerState.PAST_END: {"range-past-end"},
    LedgerState.DAMAGED_FILE: {"damaged-file"},
    LedgerState.UNREACHABLE: {"unreachable", "unreadable"},
}  # The findings that say why chunks are in a bad state; of other states, any error of the array
_CODE_OF_FILES = {
    FileState.DAMAGED: "damaged-file",
    FileState.UNREACHABLE: "unreachable",
    FileState.CHANGED: "changed",
}


def split(
    findings: Iterable[Finding], waivers: Sequence[Waiver]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the findings that count and those that are accepted."""
    live: list[Finding] = []
    accepted: list[Finding] = []
    for each in findings:
        (accepted if any(waiver.has(each) for waiver in waivers) else live).append(each)
    return tuple(live), tuple(accepted)


class Excused:
    """The faults that remain in a ledger after findings are accepted."""

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
        """Whether a chunk or a file is in a bad state that was not accepted."""
        return any(CHUNK_TERMS[state].rank is Rank.BAD for state in self.chunks) or any(
            FILE_RANKS[state] is Rank.BAD for state, count in self.files.items() if count
        )


def accepted_text(accepted: Iterable[Finding]) -> str:
    """Return accepted findings as text, each code with its arrays: ``"axis-gap of `time`"``."""
    found = [*dict.fromkeys(str(Waiver(each.code, array_of(each) or None)) for each in accepted)]
    return ", ".join(found[:3]) + (f" and {len(found) - 3:,} more" if len(found) > 3 else "")


def coverage(ledger: Ledger, terms: CheckTerms) -> dict[str, dict[str, int]]:
    """Return how much was checked: files, chunks and objects, each with its total."""
    counts = ledger.all_counts()
    depths: Counter[int] = Counter()
    for state, number in counts.items():
        if CHUNK_TERMS[state].rank is Rank.GOOD:
            depths[CHUNK_TERMS[state].depth] += number

    def to(depth: int) -> int:
        return sum(number for found, number in depths.items() if found >= depth)

    files, objects = ledger.files.counts, ledger.objects
    read = sum(n for state, n in files.items() if FILE_RANKS[FileState(state)] is Rank.GOOD)
    read += files[FileState.CHANGED]
    found = {
        "files": {state.name.lower(): n for state in FileState if (n := files[state])}
        | {"total": sum(files.values()), "read": read},  # which counts those that changed, too
        "chunks": {"total": sum(counts.values()), "inside": to(1) - ledger.decoded_inline,
                   "placed": to(2) + ledger.seen[0], "decoded": to(3) + ledger.seen[1],
                   "values": to(4) + ledger.seen[2]},
        "objects": {"total": objects.declared}
        | {state.name.lower(): objects.counts[state] for state in ObjectState},
    }  # fmt: skip
    if not terms.asks(CheckLook.FILES):
        del found["objects"], found["chunks"]["placed"]
    return found


def coverage_text(ledger: Ledger, terms: CheckTerms) -> str:
    """Return how much was checked as a line, whatever the headline."""
    found: dict[str, Any] = coverage(ledger, terms)
    files, chunks = found["files"], found["chunks"]
    total = counted(chunks["total"], "chunk")
    if not terms.asks(CheckLook.TARGETS):
        files = "Coordinates were read" if terms.reads_coordinates else (
            "No chunk was read" if terms.is_of_file else "No file was opened"
        )  # fmt: skip
        what = "the references made from the file" if terms.is_of_file else "the set itself"
        return f"Looked at: {what}, whose grids have {total}. {files}."
    verb = "Read" if terms.asks(CheckLook.FILES) else "Found"
    parts = [f"{verb}: {files['read']:,} of {counted(files['total'], 'file')}."]
    if terms.asks(CheckLook.FILES):
        parts.append(f"At the right position: {chunks['placed']:,} of {total}.")
    else:
        counts = ledger.all_counts()
        held = sum(counts[state] for state in (LedgerState.HELD, LedgerState.HELD_EQUAL))
        held, holes = held + ledger.decoded_inline, counts[LedgerState.HOLE]
        apart = [f"{held:,} inline"] * (held > 0) + [f"{holes:,} without a reference"] * (holes > 0)
        in_files = counted(chunks["total"] - held - holes, "chunk")
        others = f" ({', '.join(apart)})" if apart else ""
        parts.append(f"Inside their files: {chunks['inside']:,} of {in_files}{others}.")
    if terms.asks(CheckLook.DECODE) or terms.asks(CheckLook.FILES):
        parts.append(f"Decoded: {chunks['decoded']:,}.")
    if terms.asks(CheckLook.FILES):
        parts.append(f"Values compared: {chunks['values']:,}.")
        parts += _objects_texts(ledger)
    return " ".join(parts)


def _objects_texts(ledger: Ledger) -> Iterator[str]:
    objects = ledger.objects
    names = len(objects.names(*(state for state in ObjectState if state != ObjectState.STRUCTURE)))
    for state, title in (
        (ObjectState.NOT_TAKEN, "Not in the set"),
        (ObjectState.LEFT_OUT, "Left out"),
        (ObjectState.UNREAD, "Not read"),
    ):
        found = sorted(objects.names(state))
        if not found:
            continue
        reasons = dict(objects.reasons.keys())
        named = [f"`{escape(name, 100)}`" for name in found[:NAMED]]
        for place, name in enumerate(found[:NAMED]):
            if name in reasons:
                named[place] += f": {reasons[name].rstrip('.')}"
        if len(found) > NAMED:
            named.append("…")
        yield f"{title}: {len(found):,} of {counted(names, 'variable')} ({'; '.join(named)})."
