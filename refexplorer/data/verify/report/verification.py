"""The result of `ReferenceSet.verify`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from refexplorer.data.audit.plan.record_files import LostFiles
from refexplorer.data.audit.report.result_store import ResultStore, seen_table
from refexplorer.data.report_page import write_report
from refexplorer.data.verify.report.finding import VerifyFinding, named, short
from refexplorer.data.verify.report.verification_html import verification_html, verification_page
from refexplorer.data.verify.results import DIFFERS, FAILED, FORBIDDEN, RESULTS, SAME, UNCOMPARED
from refexplorer.formats.files.atomic import write_blocks, writing
from refexplorer.markup import counted, escape
from refexplorer.masking import KEYS, masked, masks_repr
from refexplorer.spec.core.catalogue import Severity

PARQUET: dict[str, Any] = {"compression": "zstd"}
_CHARS = 200
_SHOWN = 50
_FEW = 5
_FILE_COLUMNS = [
    "target", "array", "native", "form", "state", "references", "same", "differs", "uncompared",
    "failed", "message", "start", "shape", "findings", "values", "largest", "false_nan",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ArrayVerification:
    """One array.

    Attributes
    ----------
    path
        Where it is; None stands for keys outside arrays.
    files
        How many files it was compared with.
    states
        References by state: ``"same"``, ``"differs"``, ``"not compared"``, ``"failed"``.
    """

    path: str | None
    files: int
    states: Mapping[str, int]

    @property
    def name(self) -> str:
        """What to call it."""
        return "(other keys)" if self.path is None else self.path or "(the root array)"

    @property
    def states_text(self) -> str:
        """How many references are in each state."""
        found = ", ".join(f"{n:,} {state}" for state, n in self.states.items() if n)
        return found or "no references"


@masks_repr
@dataclass(frozen=True)
class Counts:
    """What was counted.

    Attributes
    ----------
    references
        All of the set.
    left_out
        Keys that errors of the set leave out.
    targets
        Files by state.
    forms
        Files by format.
    arrays
        References by state.
    reasons
        Why references were not compared: array, reason, how many.
    unchecked
        What of the metadata was not compared: array, what, in how many files.
    failures
        The first files that could not be read, and why.
    grants
        What `allow` needs for what was not asked.
    unfinished
        A sentence for each part that was given up.
    stopped
        Whether it was stopped before the end.
    lost
        Record files of a parquet store that are missing or cannot be read.
    values, largest, largest_at, false_nan
        Values that were compared, the largest difference and its key, and how many values of the
        files the set reads as missing.
    """

    references: int
    left_out: int
    targets: Mapping[str, int]
    forms: Mapping[str, int]
    arrays: tuple[ArrayVerification, ...]
    reasons: tuple[tuple[str | None, str, int], ...]
    unchecked: tuple[tuple[str, str, int], ...]
    failures: Mapping[str, str]
    grants: tuple[str, ...]
    unfinished: tuple[str, ...]
    stopped: bool
    lost: LostFiles
    values: int
    largest: float | None
    largest_at: str | None
    false_nan: int

    def of(self, state: str) -> int:
        """Return how many references are in a state."""
        return sum(array.states.get(state, 0) for array in self.arrays)


class Verification:
    """What verifying a set found: whether it says what its files say.

    Attributes
    ----------
    source
        The name of the set.
    findings
        What differs or is odd, grouped by cause, by array and gravity.
    counts
        References, files and values, by state.
    folder
        Where the results are, as parquet files that together are the table; it goes away with this
        object unless it was named.
    """

    def __init__(
        self,
        source: str,
        findings: tuple[VerifyFinding, ...],
        counts: Counts,
        store: ResultStore,
        held_different: Mapping[str, np.ndarray],
    ) -> None:
        self.source = source
        self.findings = findings
        self.counts = counts
        self.folder = store.folder
        self._store = store
        self._held_different = held_different

    @property
    def good(self) -> bool:
        """Whether references were compared, none differs, and all files could be read.

        Warnings, such as gaps in time, are as the files have them. What cannot be compared is
        neither right nor wrong: see `not_compared`. Files that may not be read yet are not good.
        A set that refers to no file, since it holds all values itself, is good.
        """
        is_compared = bool(self.counts.of(SAME)) or not self._has_files
        return is_compared and not (self.has_errors or self._is_partial)

    @property
    def _has_files(self) -> bool:
        """Whether any reference leads to a file."""
        return any(self.counts.targets.values())

    @property
    def has_errors(self) -> bool:
        """Whether the set has errors, differs from its files, or some could not be read."""
        counts = self.counts
        wrong = counts.of(DIFFERS) + counts.of(FAILED) + counts.left_out + counts.lost.unreadable
        return bool(wrong or self.error_count)

    @property
    def _is_partial(self) -> bool:
        """Whether something was left that could have been compared."""
        counts = self.counts
        return bool(counts.unfinished or counts.stopped or counts.targets.get(FORBIDDEN))

    @property
    def error_count(self) -> int:
        """How many findings are errors."""
        return sum(found.severity is Severity.ERROR for found in self.findings)

    @property
    def not_compared(self) -> int:
        """References that were not compared, with files of formats that cannot be, for example."""
        return self.counts.of(UNCOMPARED)

    @property
    def verdict(self) -> str:
        """What was found."""
        counts = self.counts
        if self.error_count or counts.of(DIFFERS):
            return "differs from its files"
        if counts.of(FAILED):
            return "not all files could be read"
        if counts.unfinished or counts.stopped:
            return "not finished"
        if not self._has_files and not self.has_errors:
            return "refers to no file: it holds all of its values itself"
        if not counts.of(SAME):
            return "nothing was compared"
        if counts.targets.get(FORBIDDEN):
            return "the same as those of its files that may be read"
        if counts.left_out or counts.lost.unreadable:
            return "has errors; the rest is as its files"
        return "the same as its files" + (" where they were compared" if self.not_compared else "")

    @property
    def summary(self) -> tuple[str, ...]:
        """The counts as sentences."""
        return tuple(self._sentences())

    def differing(self, array: str) -> np.ndarray:
        """Return the numbers of all chunks of an array that differ, ascending, shape ``(n,)``."""
        found = [self._held_different.get(array, np.empty(0, np.int64))]
        for part in self._store.tables(["array", "different"]):
            chosen = part.filter(pc.equal(part["array"], array))["different"]
            found += [pc.list_flatten(chosen).to_numpy()]
        return np.unique(np.concatenate(found).astype(np.int64))

    def tables(self) -> Iterator[pa.Table]:
        """Yield the results a part at a time, a row for each file and array."""
        return map(seen_table, self._store.tables())

    def tables_as_read(self) -> Iterator[pa.Table]:
        """Yield the results with the addresses of the references, which are no one's to see."""
        return self._store.tables()

    def files(self) -> pa.Table:
        """Return a row for each file and array: state, references by state, what was found."""
        parts = [part.select(_FILE_COLUMNS) for part in self.tables()]
        empty = RESULTS.empty_table().select(_FILE_COLUMNS)
        found = pa.concat_tables([empty, *parts], promote_options="permissive")
        return found.replace_schema_metadata(None)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table of files and arrays to one file, which appears when all is written.

        Raises
        ------
        SourceError
            If it cannot be written.
        """
        with (
            writing(Path(path), as_it_is=True) as file,
            pq.ParquetWriter(file, RESULTS, **PARQUET) as writer,
        ):
            for results in self.tables():
                writer.write_table(results.replace_schema_metadata(None))

    def to_dict(self) -> dict[str, Any]:
        """Return verdict, counts and findings as what JSON knows."""
        counts = asdict(self.counts)
        counts["arrays"] = [
            {"path": each.path, "files": each.files, "states": dict(each.states)}
            for each in self.counts.arrays
        ]
        said: dict[str, Any] = {
            "source": self.source,
            "good": self.good,
            "verdict": self.verdict,
            "not_compared": self.not_compared,
            "summary": list(self.summary),
            **counts,
            "findings": [asdict(found) for found in self.findings],
        }
        seen: dict[str, Any] = masked(said, KEYS)
        return seen

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write what `to_dict` returns to a file.

        Raises
        ------
        SourceError
            If it cannot be written.
        """
        write_blocks(Path(path), [json.dumps(self.to_dict(), indent=1).encode()])

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a page that needs nothing else: what differs, where, and what was not compared.

        Raises
        ------
        SourceError
            If it cannot be written.
        """
        write_report(path, verification_page(self))

    def __repr__(self) -> str:
        return f"<Verification of {self.source!r}: {self.verdict}>"

    def __str__(self) -> str:
        lines = [f"{escape(self.source, _CHARS)}: {self.verdict}"]
        lines += [f"  {found}" for found in self.findings[:_SHOWN]]
        if (more := len(self.findings) - _SHOWN) > 0:
            lines.append(f"  … {more:,} more findings.")
        for array in self.counts.arrays:
            files = counted(array.files, "file")
            lines.append(f"  {escape(array.name, 40):<24}  {files:<14}  {array.states_text}")
        lines += [f"  {sentence}" for sentence in self.summary]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return verification_html(self)

    def _sentences(self) -> Iterator[str]:
        counts = self.counts
        words = {SAME: "the same", UNCOMPARED: "not compared", FORBIDDEN: "not allowed yet"}
        parts = [f"{n:,} {words.get(state, state)}" for state, n in counts.targets.items() if n]
        of = counted(sum(counts.targets.values()), "file")
        forms = ", ".join(f"{n:,} {form}" for form, n in counts.forms.items())
        yield f"{of}{f' ({forms})' if forms else ''}: {', '.join(parts) or 'nothing to read'}."
        states = {state: counts.of(state) for state in (SAME, DIFFERS, UNCOMPARED, FAILED)}
        parts = [f"{n:,} {words.get(state, state)}" for state, n in states.items() if n]
        yield f"{counted(counts.references, 'reference')}: {', '.join(parts) or 'none compared'}."
        if counts.left_out:
            yield f"{counted(counts.left_out, 'key')} rejected by errors: diagnostics say which."
        yield from counts.lost.sentences()
        if counts.of(SAME) + counts.of(DIFFERS):
            yield self._values_sentence()
        for url, why in list(counts.failures.items())[:_FEW]:
            yield f"{escape(short(url), _CHARS)}: {escape(why, 2 * _CHARS)}"
        yield from counts.unfinished[:_SHOWN]
        if counts.stopped:
            yield "It was stopped before all files were read."
        if counts.grants:
            names = ", ".join(f'"{escape(name, _CHARS)}"' for name in counts.grants)
            yield f"Pass allow=[{names}] to verify the rest."
        yield self._last_sentence()

    def _values_sentence(self) -> str:
        counts = self.counts
        if not counts.values:
            return "Ranges and metadata were compared, and no values of chunks."
        found = f"{counted(counts.values, 'value')} of chunks were compared"
        if counts.largest is not None:
            found += f"; the largest difference is {counts.largest:.6g}, in {counts.largest_at}"
        if counts.false_nan:
            verb = "reads" if counts.false_nan == 1 else "read"
            found += f"; {counted(counts.false_nan, 'value')} of the files {verb} as missing"
        return found + "."

    def _last_sentence(self) -> str:
        """Return what was not compared, and why."""
        counts = self.counts
        parts = [
            f"{counted(n, 'reference')}{_of(path)} ({why.rstrip('.')})"
            for path, why, n in counts.reasons[:_FEW]
        ]
        if (more := sum(n for *_, n in counts.reasons[_FEW:])) > 0:
            parts.append(f"{more:,} more references")
        what: dict[str, list[str]] = {}
        for path, aspect, _ in counts.unchecked:
            what.setdefault(aspect, []).append(path)
        parts += [f"{aspect} of {_names(paths)}" for aspect, paths in what.items()]
        return f"Not compared: {'; '.join(parts)}." if parts else "Not compared: nothing."


def _of(path: str | None) -> str:
    return "" if path is None else f" of {named(path)[:1].lower() + named(path)[1:]}"


def _names(paths: Sequence[str]) -> str:
    found = ", ".join(named(path) for path in paths[:_FEW])
    return f"{found}, …" if len(paths) > _FEW else found
