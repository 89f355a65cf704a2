"""The headline is the first line that fits, and never says more than the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import pytest

from refexplorer.checks.headlines import Headline, coverage, coverage_text, headline
from refexplorer.checks.ledger import Ledger
from refexplorer.checks.states import CHUNK_TERMS, FileState, LedgerState, ObjectState, Rank
from refexplorer.checks.terms import CheckTerms
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Finding

S, F, O = LedgerState, FileState, ObjectState  # noqa: E741


def fault(code: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(code, severity, "", "")


@dataclass
class Case:
    says: str
    status: int = 0
    verb: str = "verify"
    chunks: dict[LedgerState, int] = field(default_factory=lambda: {S.PLACED: 4})
    files: dict[FileState, int] = field(default_factory=lambda: {F.READ: 2})
    objects: list[tuple[str, ObjectState]] = field(default_factory=lambda: [("sst", O.IN_SET)])
    findings: list[Finding] = field(default_factory=list)


LEFT_OUT = [("sst", O.IN_SET), ("qc", O.LEFT_OUT)]
LACKING = [("sst", O.IN_SET), ("lat", O.LACKING)]
CASES = {
    "all of it": Case("the same as its files"),
    "empty as in the file": Case("the same as its files", chunks={S.PLACED: 1, S.EMPTY: 3}),
    "inline and equal": Case("the same as its files", chunks={S.HELD_EQUAL: 4}),
    "values": Case("the same as its files", verb="verify --values", chunks={S.EQUAL: 4}),
    "not taken": Case(
        "the same as its files in 1 of 2 variables; others are not in it",
        objects=[("sst", O.IN_SET), ("ice", O.NOT_TAKEN)],
    ),
    "no codec, and the maker left it out": Case(
        "the same as its files in 1 of 2 variables; others are not in it", objects=LEFT_OUT
    ),
    "our own opening left it out": Case(
        "incomplete: its files have 1 variable that it lacks", 1,
        objects=LEFT_OUT, findings=[fault("left-out")],
    ),
    "coordinate dropped": Case(
        "incomplete: its files have 1 variable that it lacks", 1,
        objects=LACKING, findings=[fault("lacking-object")],
    ),
    "chunks lacking": Case(
        "incomplete: its files have 2 chunks that it lacks", 1,
        chunks={S.PLACED: 2, S.LACKING: 2}, findings=[fault("no-reference")],
    ),
    "hole": Case("the same as its files; 1 chunk has no file", chunks={S.PLACED: 3, S.HOLE: 1}),
    "array of its own": Case(
        "the same as its files; 1 array is in the set only", chunks={S.OWN: 4}
    ),
    "wrong": Case(
        "differs from its files", 1,
        chunks={S.PLACED: 3, S.WRONG_RANGE: 1}, findings=[fault("offset")],
    ),
    "wrong and incomplete": Case(
        "differs from its files", 1, objects=LACKING,
        findings=[fault("units"), fault("lacking-object")],
    ),
    "other fill": Case(
        "differs from its files", 1,
        chunks={S.PLACED: 3, S.OTHER_FILL: 1}, findings=[fault("fill_value")],
    ),
    "stale": Case(
        "is stale: 1 file changed", 1,
        files={F.READ: 1, F.CHANGED: 1}, findings=[fault("changed")],
    ),
    "no root": Case("xarray cannot open it", 1, findings=[fault("no-root")]),
    "a file that may not be read": Case(
        "not known: 1 file is not allowed yet", 2,
        chunks={S.PLACED: 2, S.NOT_ALLOWED: 2}, files={F.READ: 1, F.NOT_ALLOWED: 1},
    ),
    "a library is missing": Case(
        "not known: 2 files need packages that are not installed", 2,
        chunks={S.UNREAD_FILE: 4}, files={F.LIBRARY_MISSING: 2},
    ),
    "a finding wins over what is unknown": Case(
        "differs from its files", 1, chunks={S.PLACED: 2, S.NOT_ALLOWED: 1, S.WRONG_RANGE: 1},
        files={F.READ: 1, F.NOT_ALLOWED: 1}, findings=[fault("offset")],
    ),
    "nobody looked": Case(
        "not known: 4 chunks were not compared", 2, chunks={S.UNTOUCHED: 4}
    ),
    "inline, but no file read covers it": Case(
        "not known: 1 chunk was not compared", 2, chunks={S.HELD_EQUAL: 3, S.UNCOVERED: 1}
    ),
    "an object that cannot be read": Case(
        "not known: 1 object of the files cannot be read", 2,
        objects=[("sst", O.IN_SET), ("odd", O.UNREAD)],
    ),
    "no files": Case(
        "all values are inline: it refers to no file", chunks={S.OWN: 4}, files={}, objects=[]
    ),
    "no files and no references": Case(
        "3 chunks have no reference: it refers to no file",
        chunks={S.OWN: 1, S.HOLE: 3}, files={}, objects=[],
    ),
    "warnings alone": Case(
        "the same as its files", findings=[fault("axis-gap", Severity.WARNING)]
    ),
    "audit": Case(
        "all 4 ranges are inside their files; 1 chunk decodes", verb="audit",
        chunks={S.INSIDE: 3, S.DECODED: 1}, files={F.ASKED: 2}, objects=[],
    ),
    "audit of a sparse set": Case(
        "all 2 ranges are inside their files; 0 chunks decode", verb="audit",
        chunks={S.INSIDE: 2, S.FILES_UNREAD: 2}, files={F.ASKED: 2}, objects=[],
    ),
    "audit of one range": Case(
        "its 1 range is inside its file; 1 chunk decodes", verb="audit",
        chunks={S.DECODED: 1}, files={F.ASKED: 1}, objects=[],
    ),
    "targets": Case(
        "all 3 ranges are inside their files", verb="check --targets",
        chunks={S.INSIDE: 3, S.HELD: 1}, files={F.ASKED: 2}, objects=[],
    ),
    "a codec or data type that is not installed": Case(
        "not known: 1 chunk needs a codec or data type that is not installed", 2, verb="audit",
        chunks={S.INSIDE: 3, S.NO_CODEC: 1}, files={F.ASKED: 2}, objects=[],
    ),
    "targets that changed": Case(
        "is stale: 1 file changed", 1, verb="check --targets",
        chunks={S.INSIDE: 3}, files={F.ASKED: 1, F.CHANGED: 1}, objects=[],
        findings=[fault("changed")],
    ),
    "targets that changed, and more": Case(
        "has errors", 1, verb="check --targets", chunks={S.INSIDE: 3, S.PAST_END: 1},
        files={F.ASKED: 1, F.CHANGED: 1}, objects=[],
        findings=[fault("changed"), fault("range-past-end")],
    ),
    "audit that finds": Case(
        "has errors", 1, verb="audit", chunks={S.PAST_END: 4}, files={F.ASKED: 2}, objects=[],
        findings=[fault("past-end")],
    ),
    "check": Case(
        "no errors in the set itself; its files were not opened", verb="check",
        chunks={S.UNTOUCHED: 4}, files={}, objects=[],
    ),
    "check that finds": Case(
        "has errors", 1, verb="check", chunks={S.UNTOUCHED: 4}, files={}, objects=[],
        findings=[fault("bad-url")],
    ),
}  # fmt: skip


def ledger_of(case: Case) -> Ledger:
    ledger = Ledger({"sst": (sum(case.chunks.values()),)})
    start = 0
    for state, number in case.chunks.items():
        ledger.mark("sst", np.arange(start, start + number), state)
        start += number
    ledger.files.counts.update(case.files)
    ledger.files.total = sum(case.files.values())
    for name, kept in case.objects:
        ledger.objects.add(name, kept)
    ledger.objects.declared = len(case.objects)
    return ledger


@pytest.mark.parametrize("name", CASES)
def test_headlines(name: str) -> None:
    case = CASES[name]
    found = headline(ledger_of(case), case.findings, CheckTerms.of_verb(case.verb))
    assert (found.text, found.status) == (case.says, case.status)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda ledger: setattr(ledger.objects, "declared", 2),
        lambda ledger: setattr(ledger.files, "total", 3),
        lambda ledger: setattr(ledger, "followed", 5),
        lambda ledger: ledger.unchosen.update(sst=1),
    ],
)
def test_what_does_not_add_up_is_never_good(spoil: Any) -> None:
    ledger = ledger_of(CASES["all of it"])
    spoil(ledger)
    found = headline(ledger, [], CheckTerms.of_verb("verify"))
    assert found.text.startswith("internal fault: the counts do not add up")
    assert found.status == 2


@pytest.mark.parametrize("state", list(LedgerState))
def test_same_needs_every_chunk(state: LedgerState) -> None:
    case = Case("", chunks={S.PLACED: 3, state: 1})
    found = headline(ledger_of(case), [], CheckTerms.of_verb("verify"))
    term = CHUNK_TERMS[state]
    is_good = term.rank is Rank.GOOD and term.depth >= 2
    assert (found.text == "the same as its files") == is_good
    if term.rank in (Rank.UNKNOWN, Rank.BAD) or (term.rank is Rank.GOOD and not is_good):
        assert not found.text.startswith("the same"), found


def test_the_coverage_line() -> None:
    case = Case("", objects=[*LEFT_OUT, ("ice", O.NOT_TAKEN)], chunks={S.PLACED: 3, S.EQUAL: 1})
    ledger, terms = ledger_of(case), CheckTerms.of_verb("verify --values")
    ledger.objects.reasons["qc", "szip has no codec."] += 1
    assert coverage_text(ledger, terms) == (
        "Read: 2 of 2 files. At the right position: 4 of 4 chunks. Decoded: 1. Values compared: 1. "
        "Not in the set: 1 of 3 variables (`ice`). "
        "Left out: 1 of 3 variables (`qc`: szip has no codec)."
    )
    found = coverage(ledger, terms)
    assert found["objects"]["left_out"] == 1
    assert found["chunks"] == {"total": 4, "inside": 4, "placed": 4, "decoded": 1, "values": 1}


def test_a_large_grid_is_the_product_of_its_lengths() -> None:
    grid = (10**6, 10**6)
    ledger = Ledger({"x": grid})
    ledger.mark("x", np.array([0, 5, prod(grid) - 1]), S.PLACED)
    assert ledger.counts("x") == {S.UNTOUCHED: 10**12 - 3, S.PLACED: 3}
    assert isinstance(headline(ledger, [], CheckTerms.of_verb("verify")), Headline)
