"""The report of an audit: the summary, the table, and the states of an array's chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from refexplorer.checks.look.audit_states import STATES
from refexplorer.checks.look.targets import RESULTS, difference
from refexplorer.checks.parts import coded, places_of
from refexplorer.checks.references import LostFiles
from refexplorer.checks.render.audit_html import SHOWN, page
from refexplorer.checks.render.audit_summary import AuditSummary
from refexplorer.checks.render.audit_tally import COUNTED, Tally
from refexplorer.checks.render.audited_targets import TARGET_COLUMNS, target_table
from refexplorer.checks.report_page import write_report
from refexplorer.checks.results import PARQUET, ResultStore, seen_table
from refexplorer.core.errors import LimitError
from refexplorer.core.files import writing
from refexplorer.core.masking import KEYS, masked, masked_url
from refexplorer.core.text import escape
from refexplorer.formats.icechunk.history import Recorded
from refexplorer.io.access import protocol_of
from refexplorer.io.fetch.failures import Facts
from refexplorer.refset.chunk_grid import DENSE_CHUNKS

_CHARS = 200  # characters of a URL: a file may hold any text
FILES = pa.schema(
    {
        "file": pa.string(),
        "array": pa.string(),
        "state": pa.string(),
        "first": pa.int64(),
        "chunks": pa.int64(),
        "message": pa.string(),
    }
)
"""The columns of `Audit.record_files`."""


class Audit:
    """The results of an audit; they stay in their folder, and are read from there.

    Attributes
    ----------
    summary
        The counts, and a sentence for each problem.
    folder
        Where the parts are, as parquet files that together are the table; it goes away with this
        object unless it was named.
    """

    def __init__(
        self,
        store: ResultStore,
        summary: AuditSummary,
        grids: Mapping[str, tuple[int, ...]],
    ) -> None:
        self.summary = summary
        self.folder = store.folder
        self._store = store
        self._grids = grids

    @property
    def good(self) -> bool:
        """Whether all was audited and nothing wrong was found in what was checked.

        Values and metadata are not compared with the files; see `AuditSummary.not_checked`.
        """
        return self.summary.good

    def tables(self) -> Iterator[pa.Table]:
        """Yield the results a part at a time, a row for each reference, by target and offset."""
        return map(seen_table, self._store.tables())

    def targets(self) -> pa.Table:
        """Return a row for each target; see `target_table` in this room."""
        return seen_table(target_table(self._store.tables(TARGET_COLUMNS)))

    def compare_versions(self, recorded: Recorded) -> None:
        """Compare what the targets said of themselves with what was recorded; note the differences.

        Parameters
        ----------
        recorded
            The versions that targets had when references to them were written.
        """
        recorded = {masked_url(url): versions for url, versions in recorded.items()}
        outdated, compared, rest = list[str](), 0, 0
        for row in self.targets().to_pylist():
            url = row["target"] or ""
            if url not in recorded:
                continue
            facts = Facts(row["target_size"], row["etag"], row["modified"])
            same, said = difference(recorded[url], facts, protocol_of(url) == "gs")
            compared += same is not None
            rest += same is None
            if same is False:
                outdated.append(f"{escape(url, _CHARS)}: {said}")
        self.summary = replace(
            self.summary,
            versions=compared,
            not_compared=rest,
            outdated=tuple(outdated[:SHOWN]),
            outdated_count=len(outdated),
        )

    def record_files(self) -> pa.Table:
        """Return a row for each record file of a parquet store that is missing or unreadable.

        Returns
        -------
        pyarrow.Table
            As `refexplorer.checks.references.LostFile` has them; the first thousand.
        """
        return pa.Table.from_pylist([asdict(file) for file in self.summary.lost.files], FILES)

    def grid(self, path: str) -> np.ndarray:
        """Return the state of each chunk of the array at a path.

        Returns
        -------
        numpy.ndarray
            int8, of the shape of the grid of chunks: places in
            `refexplorer.checks.look.chunks.STATES`, -1 without a reference, or not audited.

        Raises
        ------
        KeyError
            If there is no such array.
        LimitError
            If its grid is too large to be held.
        """
        shape = self._grids[path]
        if prod(shape) > DENSE_CHUNKS:
            raise LimitError(
                f"{path or 'the root array'} has {prod(shape):,} chunks, more than the "
                f"{DENSE_CHUNKS:,} of the largest grid; read the table instead."
            )
        found = np.full(prod(shape), -1, np.int8)
        for results in self._store.tables(["array", "chunk", "state"]):
            paths, codes = coded(results["array"])
            chunks = results["chunk"].to_numpy()
            place = paths.index(path) if path in paths else -1
            mine = (codes == place) & (chunks >= 0)
            found[chunks[mine]] = places_of(results["state"], STATES)[mine]
        return found.reshape(shape)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table to one file, which appears when all is written.

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

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the summary as a page that needs nothing else.

        Raises
        ------
        SourceError
            If it cannot be written.
        """
        write_report(path, page(self.summary))

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as what JSON knows; ``good`` is no more than `Audit.good` says."""
        summary = self.summary
        said = {"verdict": summary.verdict, "not_checked": summary.not_checked}
        seen: dict[str, Any] = masked({"good": self.good, **said, **asdict(summary)}, KEYS)
        return seen

    def __str__(self) -> str:
        return str(self.summary)

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


def report(
    source: str,
    store: ResultStore,
    references: int,
    rejected: int,
    grids: Mapping[str, tuple[int, ...]],
    unfinished: tuple[str, ...],
    lost: LostFiles,
) -> Audit:
    """Count what is in a store."""
    tally = Tally({path: prod(shape) for path, shape in grids.items()})
    for results in store.tables(COUNTED):
        tally.add(results)
    problems, problem_count = tally.problems()
    summary = AuditSummary(
        source=source,
        references=references,
        audited=tally.audited,
        left_out=rejected,
        bytes=tally.bytes,
        targets=tally.targets(),
        states=tally.states(),
        arrays=tally.arrays(),
        compared=tally.compared,
        uncompared=tally.uncompared,
        same=tally.same,
        partly=tally.partly,
        decoded_bytes=tally.decoded_bytes,
        problems=problems,
        problem_count=problem_count + tally.changed,
        grants=tuple(tally.grants),
        unfinished=unfinished,
        lost=lost,
    )
    return Audit(store, summary, grids)
