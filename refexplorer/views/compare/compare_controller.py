"""The controllers of the comparison and of repairs: differences, one chunk in both, a new file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted, escape
from refexplorer.refset.moves import CHANGES
from refexplorer.refset.opened_set import internals
from refexplorer.verbs.differing import MARKS, Difference, sentences, side_texts, title
from refexplorer.verbs.opening import open_references
from refexplorer.views.compare.chunk_values import (
    ChunkSide,
    ComparedChunk,
    OtherChunks,
    compare_chunk,
)
from refexplorer.views.health.health_controller import GRANTS, reading_of, watched
from refexplorer.views.maps.chunk_map import ChangeKind, kinds_of
from refexplorer.views.preview.values import DecodedChunks, load_array_libraries
from refexplorer.views.wire.context import ExplorerPart, ViewContext
from refexplorer.views.wire.jobs import JobReport, go_on
from refexplorer.views.wire.requests import Buffers, Count, job, within

if TYPE_CHECKING:
    from refexplorer.refset.differences import KeyChange
    from refexplorer.verbs.referenceset import ReferenceSet
    from refexplorer.verbs.repair.repairing import Repair

ARRAYS = 1000  # arrays in one answer
_TEXT = 200  # characters of a name or reference: a file may hold any text


class Offered(Struct, frozen=True):
    """A set that may be chosen by its title."""

    title: str
    source: str


class ArrayChanges(Struct, frozen=True):
    """An array with changes."""

    path: str
    # before, after: Shape and data type; null where the set has no such array
    before: str | None
    after: str | None
    counts: tuple[Count, ...]  # Keys of each change, in the order of `ComparedSets.kinds`


class ComparedSets(Struct, frozen=True):
    """The difference between two sets in numbers."""

    # before, after: What the sets are called
    before: str
    after: str
    source: str  # Path or URL of the set before; empty where Python handed it over
    title: str
    kinds: tuple[ChangeKind, ...]  # The changes that occur
    sentences: tuple[str, ...]  # The rules that explain the changes
    # arrays, array_count: The first arrays of which something changed, and how many there are
    arrays: tuple[ArrayChanges, ...]
    array_count: Count


class ComparisonSummary(Struct, frozen=True):
    """The set used for comparison; null if there is none."""

    comparable: bool  # Whether a set to compare with may be named here
    offered: tuple[Offered, ...]  # Sets to choose from
    sets: ComparedSets | None


class ChangeRow(Struct, frozen=True):
    """A differing key, and its references as short texts."""

    mark: str
    change: str
    key: str
    before: str
    after: str


class ChangePage(Struct, frozen=True):
    """Some of the differing keys, and their total number."""

    start: Count
    total: Count
    rows: tuple[ChangeRow, ...]


class CompareController:
    """Responds how the set of an explorer differs from another one."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._comparison = context.comparison
        self._chunks = DecodedChunks(self._refs, context.targets, context.failure_log)
        self._others = OtherChunks(context)

    @job("compare.with", unsaved="This saved page cannot open another set", in_turn=True)
    def compare(
        self,
        report: JobReport,
        source: str,  # Path or URL of the set as it was before; empty: none
        # Whether a person has just typed it: an address alone allows nothing
        is_typed: bool = False,
    ) -> None:
        """Compare with another set."""
        sets = self._comparison.sets
        if sets is None:
            raise RefexplorerError("Comparing with another set is not allowed here.")
        if not source:
            self._comparison.compare(None)
            return
        if is_typed:
            sets.consent(source)
        label = f"Opening {escape(source, _TEXT)}"

        def tell(done: int, size: int) -> None:
            go_on(report, done, size, label)

        other = sets.open(source, tell, lambda: report(None, None, label))
        self._comparison.compare(other, source)

    @job("compare.summary", in_turn=True)
    def summary(self, report: JobReport) -> ComparisonSummary:
        """Return the set used for comparison, and the differences."""
        sets = self._comparison.sets
        known = {} if sets is None else sets.offered()
        offered = tuple(Offered(title, source) for source, title in known.items())
        found = self._comparison.difference(report)
        summed = None if found is None else self._summed(found)
        return ComparisonSummary(sets is not None, offered, summed)

    def _summed(self, found: Difference) -> ComparedSets:
        kinds = kinds_of(found)
        codes = [CHANGES.index(kind.name) for kind in kinds]
        arrays = []
        for path in found.arrays():
            counts = found.tree.counts_below(path)
            if counts.any():
                told = tuple(counts[codes].tolist())
                before, after = _form(found.before, path), _form(found.after, path)
                arrays.append(ArrayChanges(path, before, after, told))
        return ComparedSets(
            found.before.source.name,
            found.after.source.name,
            self._comparison.source,
            title(found),
            kinds,
            tuple(sentences(found)),
            tuple(arrays[:ARRAYS]),
            len(arrays),
        )

    @job("compare.rows", in_turn=True)
    def rows(
        self,
        report: JobReport,
        start: int,
        n: int,
        change: str | None = None,  # Null: those of all changes
        folder: str = "",  # Only those below it; empty: all
    ) -> ChangePage:
        """List the differing keys."""
        found = self._comparison.needed(report)
        if change is not None and change not in CHANGES[1:]:
            raise RefexplorerError(f"{change!r} is not a kind of change.")
        numbers = found.tree.numbers(folder, change)
        start, n = within(start, n)
        rows = tuple(map(change_row, found.rows_at(numbers[start : start + n])))
        return ChangePage(start, len(numbers), rows)

    @job(
        "compare.values",
        in_turn=True,
        buffers="The values before, after, and after less before: float64 in C order, NaN where "
        "there is none; nothing where the values of a side are no numbers. Where float64 cannot "
        "express them all, two more have both as 64-bit integers, as `chunk.read`.",
    )
    def values(
        self,
        report: JobReport,
        key: str,  # Of the chunk
    ) -> tuple[ComparedChunk, Buffers]:
        """Read a chunk in both sets."""
        load_array_libraries()
        found = self._comparison.needed(report)
        before, after = found.before, found.after
        sides = (ChunkSide(before, self._others.of(before)), ChunkSide(after, self._chunks))
        return compare_chunk(key, *sides, report)


def _form(refs: ReferenceSet, path: str) -> str | None:
    """Return shape and data type of an array; None if there is none."""
    array = internals(refs).opened.arrays.get(path)
    return None if array is None else array.form_text


def change_row(change: KeyChange) -> ChangeRow:
    """Format a differing key for display."""
    before, after = (text[:_TEXT] for text in side_texts(change))
    return ChangeRow(MARKS[change.change], change.change, change.key, before, after)


PART = ExplorerPart(
    "compare", "Compare", "Comparison", (CompareController,), place=7, under="",
    recorded=("compare.summary",),
)  # fmt: skip


SHOWN = 200  # Changed keys, and sentences of each list, that one answer carries
NOT_HERE = (
    "Only the owner of this page may write files on its machine. On your machine, run "
    "`refexplorer repair SET -o NEW`."
)
_WRITTEN = frozenset({".json", ".parq", ".parquet"})  # extensions that a repaired set may keep


class RepairShown(Struct, frozen=True):
    """The changes that a repair would make."""

    verdict: str
    repaired: tuple[str, ...]  # What differs from the files now, and no longer would
    left: tuple[str, ...]  # What would differ still, with what to do about it
    notes: tuple[str, ...]
    # changes, change_count: The first keys that would change, and how many there are
    changes: tuple[ChangeRow, ...]
    change_count: Count
    grants: tuple[str, ...]  # What `allow` needs for the files that were not read
    # Where the repaired set would be written; null where nothing may be written, or is to be
    output: str | None
    obstacle: str | None  # Why it may not be written, where there would be something


class RepairWritten(Struct, frozen=True):
    """A repaired set that was written."""

    path: str
    keys: Count
    can_open: bool  # Whether it can be shown here in place of the old set


class Repairing:
    """Responds with possible repairs, and writes them where the person may."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._can_write = context.can_write
        self._did = context.did
        self._show = context.show
        self._found: Repair | None = None
        self._written: Path | None = None

    @job("repair.plan")
    def plan(self, report: JobReport) -> RepairShown:
        """Find what can be repaired from the files; nothing is written."""
        from refexplorer.verbs.repair.repairing import repair_on

        terms = reading_of(self._refs, self._targets)
        found = self._found = repair_on(terms, self._refs, watch=watched(report))
        if self._refs.verified is None:  # one that was asked for may have compared values, too
            self._refs.verified = found.before
        go_on(report, None, None, "Comparing the repaired set with this one")
        rows = tuple(map(change_row, found.difference.rows(0, SHOWN)))
        is_worth = found.can_be_written and len(rows) > 0
        obstacle = NOT_HERE if is_worth and not self._can_write else None
        return RepairShown(
            f"{counted(total, 'key')} would change; the repaired set: {found.after.headline.text}"
            if (total := found.difference.total)
            else found.verdict,
            found.repaired[:SHOWN],
            tuple(f"{each.message}. {each.remedy}".strip() for each in found.left[:SHOWN]),
            found.notes[:SHOWN],
            rows,
            found.difference.total,
            found.after.counts.grants[:GRANTS],
            self._proposed() if is_worth and self._can_write else None,
            obstacle,
        )

    def _proposed(self) -> str:
        """Return an unused path, next to the set if that is local."""
        location, name = self._refs.source.location, Path(self._refs.source.name)
        folder = Path(location) if location and Path(location).is_dir() else Path.cwd()
        suffix = name.suffix if name.suffix in _WRITTEN else ".json"
        return str(folder / f"{name.stem}.repaired{suffix}")

    @job("repair.write", in_turn=True)
    def write(self, report: JobReport, output: str) -> RepairWritten:
        """Write the result of `repair.plan`; an existing file is never replaced."""
        if not self._can_write:
            raise RefexplorerError(NOT_HERE)
        if self._found is None:
            raise RefexplorerError("Press Repair … first to see what would change.")
        path = Path(output).expanduser().absolute()
        if path.exists():
            raise RefexplorerError(f"{escape(str(path), 300)} exists already: choose another file.")
        go_on(report, None, None, f"Writing and verifying {escape(path.name, 100)}")
        keys = self._found.write(path)
        self._written = path
        self._did(f"rx.repair(refs, {str(path)!r})")
        return RepairWritten(str(path), keys, self._show is not None)

    @job("repair.open")
    def open(self, report: JobReport) -> None:
        """Show the set that `repair.write` wrote in place of this one."""
        if self._show is None or self._written is None:
            raise RefexplorerError("There is no repaired set that can be shown here.")
        go_on(report, None, None, f"Opening {escape(self._written.name, 100)}")
        options, granted = self._refs.storage_options, self._targets.policy.granted
        opened = open_references(self._written, storage_options=options, limits=self._refs.limits)
        self._show(opened.allowing(*granted))


REPAIR = ExplorerPart("repair", "Repair", "Repair", (Repairing,), look=False, alone=False)
