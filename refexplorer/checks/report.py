"""The report of a run: the ledger, the findings, and the conclusions from both."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from refexplorer.checks.axes import IN_FILES, NO_VALUES
from refexplorer.checks.headlines import (
    Headline,
    coverage,
    coverage_text,
    headline,
    split,
    unknowns,
)
from refexplorer.checks.ledger import CheckedArray, Counts, Ledger
from refexplorer.checks.look.coordinates import AxesLook
from refexplorer.checks.look.targets import RESULTS as REFERENCES
from refexplorer.checks.look.targets import ROW_COLUMNS, target_table
from refexplorer.checks.records import RESULTS, without_advice
from refexplorer.checks.report_html import document, summary, write_report
from refexplorer.checks.results import PARQUET as RANGES_PARQUET
from refexplorer.checks.results import ResultStore, seen_table
from refexplorer.checks.states import CHUNK_TERMS, DIFFERENT
from refexplorer.checks.terms import CheckLook, CheckTerms
from refexplorer.core.files import write_blocks, writing
from refexplorer.core.text import ADVICE, KEYS, array_text, counted, escape, file_text, masked
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import Finding, grouped, in_order

SCHEMA = 1  # Of the JSON document; increased with each incompatible change
PARQUET: dict[str, Any] = {"compression": "zstd"}
_CHARS = 200  # characters of a name: a file may hold any text
_SHOWN = 50  # parts that were given up, of which the text has a sentence
_INSTALL = "`pip install"
_FEW = 5  # findings of one code, failures and reasons that the text names
_FILE_COLUMNS = [
    "target", "array", "native", "form", "state", "file", "references", "same", "differs",
    "uncompared", "failed", "message", "start", "shape", "findings", "values", "largest",
    "false_nan",
]  # fmt: skip


_FOLDERS, _DEEP = 4, 3
"""From so many folders on their parent is named, if it is at least so deep."""


def joint(grants: Sequence[str]) -> Sequence[str]:
    """Return locations to allow, with the parent folder in place of many folders."""
    folders = [name for name in grants if "://" not in name]
    if len(folders) < _FOLDERS or not all(map(os.path.isabs, folders)):
        return grants
    shared = Path(os.path.commonpath(folders))
    if len(shared.parts) < _DEEP:  # a disk, or all that people have on it
        return grants
    return [str(shared), *(name for name in grants if "://" in name)]


class Report:
    """The result of a run: coverage, findings and headline.

    Attributes
    ----------
    source
        The name of the set.
    terms
        The requested checks.
    ledger
        The states of all chunks, keys, objects and files.
    findings
        The findings, grouped by cause and array, errors first.
    accepted
        Findings that `judged` accepted; they do not fail.
    counts
        Other counts.
    headline
        One line, and the exit status.
    """

    def __init__(
        self,
        source: str,
        findings: tuple[Finding, ...],
        ledger: Ledger,
        terms: CheckTerms,
        counts: Counts,
        store: ResultStore | None,
    ) -> None:
        self.source = source
        self.terms = terms
        self.ledger = ledger
        self.findings, self.accepted = split(findings, terms.accept)
        self.counts = counts
        self.headline: Headline = headline(
            ledger, self.findings, terms, self.accepted, counts.unknown
        )
        self._store = store

    def judged(self, fail_on: Severity | str = "error", accept: Sequence[str] = ()) -> Report:
        """Return the report with another threshold and accepted findings.

        Parameters
        ----------
        fail_on
            The lowest severity that counts as a failure: ``"error"``, ``"warning"`` or ``"info"``.
        accept
            Findings that do not count as failures, as ``"CODE"`` or ``"CODE:ARRAY"``. The headline
            names them.

        Raises
        ------
        RefexplorerError
            If there is no such severity or code.
        """
        terms = self.terms.judging(fail_on, accept)
        findings = self.findings + self.accepted
        return Report(self.source, findings, self.ledger, terms, self.counts, self._store)

    def with_look(self, look: AxesLook) -> Report:
        """Return the report with the results for coordinates."""
        terms = replace(self.terms, reads_coordinates=look.has_read)
        unknown = (*self.counts.unknown, *look.unknown)
        counts = replace(self.counts, axes=look.axes, unknown=unknown)
        findings = (*self.findings, *self.accepted)
        if look.findings:
            findings = in_order((*findings, *look.findings))
        return Report(self.source, findings, self.ledger, terms, counts, self._store)

    @property
    def status(self) -> int:
        """The exit status: 1 if a finding counts as a failure, 2 if a result is unknown, else 0."""
        return self.headline.status

    @property
    def good(self) -> bool:
        """Whether everything requested was checked, and no finding counts as a failure."""
        return self.status == 0

    @property
    def has_errors(self) -> bool:
        """Whether a finding counts as a failure."""
        return self.status == 1

    @property
    def unknowns(self) -> list[str]:
        """The requested results that are unknown."""
        return [*self.counts.unknown, *unknowns(self.ledger, self.terms)]

    @property
    def coverage(self) -> dict[str, dict[str, int]]:
        """How many files, chunks and objects of files were checked, each with its total."""
        return coverage(self.ledger, self.terms)

    @property
    def arrays(self) -> tuple[CheckedArray, ...]:
        """The arrays, with their chunks by state."""
        ledger, files = self.ledger, self.counts.files
        return tuple(
            CheckedArray(path, ledger.total(path), files.get(path, 0), ledger.counts(path))
            for path in ledger.paths
        )

    @property
    def summary(self) -> tuple[str, ...]:
        """The coverage and the counts as sentences."""
        return tuple(self._sentences())

    def chunks(self, array: str) -> np.ndarray:
        """Return the state of each chunk of an array as `LedgerState` numbers, uint8.

        Raises
        ------
        LimitError
            If the array has too many chunks to have a state each.
        """
        return self.ledger.states(array)

    def differing(self, array: str) -> np.ndarray:
        """Return the numbers of all differing chunks of an array, ascending, ``(n,)`` int64."""
        return np.flatnonzero(np.isin(self.ledger.states(array).reshape(-1), list(DIFFERENT)))

    def tables(self) -> Iterator[pa.Table]:
        """Yield the results one part at a time.

        One row per file and array if files were read, else one per reference.
        """
        return map(seen_table, self.tables_as_read())

    def tables_as_read(self) -> Iterator[pa.Table]:
        """Yield the results with unmasked URLs; do not display them."""
        return iter(()) if self._store is None else self._store.tables()

    def files(self) -> pa.Table:
        """Return one row per file and array: state, references by state, findings.

        Without `verify`, one for each file: ``target``, ``state``, ``size``, ``etag``,
        ``modified``, ``references``, ``end`` (of the last range), ``past_end`` and ``failed``
        (how many), ``message``, and ``grant`` (what `allow` needs).
        """
        if not self.terms.asks(CheckLook.FILES):
            rows = () if self._store is None else self._store.tables(ROW_COLUMNS)
            return seen_table(target_table(rows, self.counts.changed))
        parts = [part.select(_FILE_COLUMNS) for part in self.tables()]
        empty = RESULTS.empty_table().select(_FILE_COLUMNS)
        found = pa.concat_tables([empty, *parts], promote_options="permissive")
        return found.replace_schema_metadata(None)

    def objects(self) -> pa.Table:
        """Return one row per object name, state and reason, with its files.

        Columns: ``name``, ``state``, ``files``, ``reason``.
        """
        book = self.ledger.objects
        reasons = dict(book.reasons.keys())
        rows = [
            {"name": name, "state": str(state), "files": number, "reason": reasons.get(name)}
            for name, counts in book.files_by_name.items()
            for state, number in counts.items()
        ]
        kinds = {"name": pa.string(), "state": pa.string(), "files": pa.int64()}
        return pa.Table.from_pylist(rows, pa.schema(kinds | {"reason": pa.string()}))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write `tables` to one file, which appears when complete.

        Raises
        ------
        SourceError
            If it cannot be written.
        """
        is_read = self.terms.asks(CheckLook.FILES)
        schema, encoding = (RESULTS, PARQUET) if is_read else (REFERENCES, RANGES_PARQUET)
        with (
            writing(Path(path), as_it_is=True) as file,
            pq.ParquetWriter(file, schema, **encoding) as writer,
        ):
            for results in self.tables():
                writer.write_table(results.replace_schema_metadata(None))

    def to_dict(self) -> dict[str, Any]:
        """Return headline, coverage, arrays and findings as JSON values."""
        counts = {
            name: value
            for name, value in asdict(self.counts).items()
            if name not in ("at", "files", "stopped")
        }
        said: dict[str, Any] = {
            "schema": SCHEMA,
            "source": self.source,
            "verb": self.terms.verb,
            "looks": sorted(map(str, self.terms.looks)),
            "selection": str(self.terms.share or "all"),
            "headline": self.headline.text,
            "claim": str(self.headline.kind),
            "status": self.status,
            "balanced": not self.ledger.faults(),
            "coverage": self.coverage,
            "summary": list(self.summary),
            "arrays": [
                asdict(each) | {"states": {CHUNK_TERMS[s].name: n for s, n in each.states.items()}}
                for each in self.arrays
            ],
            "findings": [found.to_dict() for found in self.findings],
            "accepted": [found.to_dict() for found in self.accepted],
            "objects": self.objects().to_pylist(),
            "stopped": self.counts.stopped,
            **counts,
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
        """Write a self-contained HTML page: what was checked, what is wrong, and where.

        Raises
        ------
        SourceError
            If it cannot be written.
        """
        targets = None if self.terms.asks(CheckLook.FILES) else self.files()
        write_report(path, document(self, self.tables(), targets))

    def __repr__(self) -> str:
        return f"<Report on {self.source!r}: {self.headline.text}>"

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, every: bool = False) -> str:
        """Return headline, findings, arrays and coverage as text.

        Parameters
        ----------
        every
            Whether to list each finding, even if many have the same code.
        """
        lines = [f"{escape(self.source, _CHARS)}: {self.headline.text}"]
        lines += [f"  {line}" for line in self._installs()]
        lines += [f"  {line}" for line in self._finding_lines(every)]
        for array in self.arrays if self.terms.asks(CheckLook.TARGETS) else ():
            files = counted(array.files, "file")
            lines.append(f"  {escape(array.name, 40):<24}  {files:<14}  {array.states_text}")
        lines += [f"  {sentence}" for sentence in self.summary]
        return "\n".join(lines)

    def _installs(self) -> list[str]:
        """Return what to install, with all arrays that need it."""
        names: dict[str, list[str]] = {}
        for why in self._reasons():
            if _INSTALL in why:
                name, verb, rest = why.partition(" requires ")
                names.setdefault(rest or why, []).extend([name] if verb else [])
        return [
            f"{', '.join(of)} {'requires' if len(of) == 1 else 'require'} {rest}" if of else rest
            for rest, of in names.items()
        ]

    def _finding_lines(self, every: bool) -> Iterator[str]:
        advised: set[str] = set()
        for group in grouped(self.findings):
            if every or not group.is_long:
                yield from map(str, group.diagnostics)
            else:
                yield group.title
                yield from (f"  {each.place}: {each.sentence}" for each in group.diagnostics[:_FEW])
                if (more := len(group.diagnostics) - _FEW) > 0:
                    yield f"  … {more:,} more"
            known = CODES[group.code]
            advice = f"{known.mend} {known.command}".rstrip()
            is_new = advice not in advised and not group.diagnostics[0].hint
            if is_new and group.severity is not Severity.INFO:
                advised.add(advice)
                yield f"  What to do: {advice}"

    def _repr_html_(self) -> str:
        return summary(self)

    def _sentences(self) -> Iterator[str]:
        counts = self.counts
        yield coverage_text(self.ledger, self.terms)
        if self.terms.is_comparable:
            yield "Use refs.verify() to compare it with its files."
        if self.has_errors and self.unknowns:  # else the headline has them
            yield f"Not known: {', '.join(self.unknowns)}."
        if counts.forms:
            forms = ", ".join(f"{n:,} {form}" for form, n in counts.forms.items())
            yield f"Formats of the files: {forms}."
        yield from self._opening_sentences()
        yield from self._axes_sentences()
        if counts.since:
            yield counts.since
        if counts.shares:
            days = (f"{n} ({when[:16].replace('T', ' ')})" for n, when in counts.shares.items())
            yield f"Shares of earlier runs, in UTC: {', '.join(days)}."
        yield from counts.lost.sentences()
        if counts.largest is not None or counts.false_nan:
            yield self._values_sentence()
        yield from self._failure_sentences()
        yield from counts.unfinished[:_SHOWN]
        if counts.stopped:
            yield "It was stopped before all files were checked."
        if counts.grants:
            names = ", ".join(f'"{escape(name, _CHARS)}"' for name in joint(counts.grants))
            verb = "verify" if self.terms.asks(CheckLook.FILES) else "check"
            yield f"Use refs.allowing({names}) to {verb} the rest."
        yield from self.not_checked
        unused = [each for each in self.terms.accept if not any(map(each.has, self.accepted))]
        if unused:
            yield f"Accepted, but not found: {', '.join(map(str, unused))}."

    def _opening_sentences(self) -> Iterator[str]:
        if found := self.counts.unopened:
            more = f" ({len(found) - 1:,} more like it)" if len(found) > 1 else ""
            yield f"xarray does not open it as it is: {found[0].rstrip('.')}{more}."

    def _axes_sentences(self) -> Iterator[str]:
        """Yield the coordinates that were read, with their ends and steps, and the others."""
        axes = [each for each in self.counts.axes if each.why != NO_VALUES]
        in_files = [each.path for each in axes if each.why == IN_FILES]
        parts = [each.sentence for each in axes if each.why != IN_FILES]
        more = f"; {len(parts) - _FEW:,} more" if len(parts) > _FEW else ""
        if parts:
            yield f"Coordinates: {'; '.join(parts[:_FEW])}{more}."
        if in_files:
            verb = "is in files and was" if len(in_files) == 1 else "are in files and were"
            yield f"Not checked: {_names(in_files)} {verb} not read."

    def _failure_sentences(self) -> Iterator[str]:
        """Yield why files cannot be read if no finding says so, and the remedy once."""
        shown = list(self.counts.failures.items())[:_FEW]
        for url, why in shown:
            reason = without_advice(why, [url])
            if not any(url in each.files and reason in each.message for each in self.findings):
                yield f"{file_text(url)}: {escape(reason, 2 * _CHARS)}."
        for advice in [why.partition(ADVICE)[2] for _, why in shown if ADVICE in why][:1]:
            yield f"If the files are in another folder, {escape(advice, 2 * _CHARS)}"

    def _values_sentence(self) -> str:
        counts = self.counts
        found = f"{counted(counts.values, 'value')} of chunks were compared"
        if counts.largest == 0:
            found += "; where both the set and the file have a value they are equal"
        elif counts.largest is not None:
            found += f"; the largest difference is {counts.largest:.6g}, in {counts.largest_at}"
        if counts.false_nan:
            verb = "reads" if counts.false_nan == 1 else "read"
            found += f"; {counted(counts.false_nan, 'value')} of the files {verb} as missing"
        return found + "."

    def _reasons(self) -> dict[str, tuple[list[str], int]]:
        """Return why references were not checked, with their arrays and number."""
        found: dict[str, tuple[list[str], int]] = {}
        for path, why, n in self.counts.reasons:
            paths, number = found.get(why, ([], 0))
            found[why] = [*paths, *([] if path is None else [path])], number + n
        return found

    @property
    def not_checked(self) -> tuple[str, ...]:
        """What was not compared or checked, and why, as a sentence; empty if nothing."""
        counts = self.counts
        parts = []
        for why, (paths, n) in list(self._reasons().items())[:_FEW]:
            because = escape(why.rstrip("."), 2 * _CHARS)
            if _INSTALL in why:  # the second line has it
                because = "a package is not installed"
            parts.append(f"{counted(n, 'reference')}{_of(paths)} ({because})")
        if (more := sum(n for _, n in list(self._reasons().values())[_FEW:])) > 0:
            parts.append(f"{more:,} more references")
        what: dict[str, list[str]] = {}
        for path, aspect, _ in counts.unchecked:
            what.setdefault(aspect, []).append(path)
        parts += [f"{aspect}{_of(paths)}" for aspect, paths in what.items()]
        verb = "compared" if self.terms.asks(CheckLook.FILES) else "checked"
        return (f"Not {verb}: {'; '.join(parts)}.",) if parts else ()


def _of(paths: Sequence[str]) -> str:
    found = _names(paths)
    return f" of {found[:1].lower()}{found[1:]}" if paths else ""


def _names(paths: Sequence[str]) -> str:
    found = ", ".join(array_text(path) for path in paths[:_FEW])
    return f"{found}, …" if len(paths) > _FEW else found
