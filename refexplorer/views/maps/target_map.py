"""The map of a target: which of its bytes are referenced, and the table of all targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow.compute as pc
from msgspec import UNSET, Struct, UnsetType

from refexplorer.checks.states import FileState
from refexplorer.checks.targets_look import TargetsLook
from refexplorer.checks.terms import CheckTerms
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import counted, masked_url
from refexplorer.formats.columns.references import numbers_of, text_column
from refexplorer.refset.opened_set import internals, watched
from refexplorer.refset.target_layout import TargetLayout, TargetRange
from refexplorer.views.code.cells import code_of_check
from refexplorer.views.health.health_controller import checked_by, reading_of
from refexplorer.views.maps.target_dates import TargetDates
from refexplorer.views.maps.target_listing import Known, TargetListing, TargetQuery, TargetRow
from refexplorer.views.wire.context import ExplorerPart, ViewContext
from refexplorer.views.wire.jobs import JobReport, steps_of
from refexplorer.views.wire.requests import Buffers, Count, floats, job, within

if TYPE_CHECKING:
    from refexplorer.checks.report import Report
    from refexplorer.refset.targets import TargetIndex
    from refexplorer.verbs.referenceset import ReferenceSet

BINS = 400  # bars along a file
RANGES_SHOWN = 400  # byte ranges in one answer; of more the bars alone
WHOLE_KEYS_SHOWN = 20  # keys of whole-file references in one answer
_GRANTS_NAMED = 8  # places to allow that an answer names
_PLACES_NAMED = 8  # places that an answer names
_LOST_NAMED = 12  # lost files that an answer names
_PLACE = r"(?s)^([A-Za-z][A-Za-z0-9+.-]*://[^/]*)?.*$"
"""A protocol with its host."""


class TargetPage(Struct, frozen=True):
    """Some rows of the table of targets, their number, and the number of targets."""

    start: Count
    total: Count
    rows: tuple[TargetRow, ...]
    targets: Count


class TargetPlace(Struct, frozen=True):
    """A host, or another URL prefix, and its number of targets."""

    place: str  # Such as ``s3://bucket``; empty for paths
    targets: Count


class TargetsSummary(Struct, frozen=True):
    """The targets in numbers."""

    total: Count
    # places, place_count: Those of most targets, and how many there are
    places: tuple[TargetPlace, ...]
    place_count: Count
    checked: Count  # Targets whose state is known from a check or an audit
    # lost, lost_count: The first whose state is not ``good``, and how many there are
    lost: tuple[TargetRow, ...]
    lost_count: Count
    unlisted: Count  # Generated keys that were not evaluated: they may have other targets


class TargetList(Struct, frozen=True):
    """All targets of a query as text, which is sent along with it."""

    name: str  # For a file
    # targets, total: How many are in it, and how many there are
    targets: Count
    total: Count


class MapArray(Struct, frozen=True):
    """An array in a map of a target, with the number that determines its colour."""

    path: str | None  # Null: other keys
    number: int


class MapRange(Struct, frozen=True):
    """A byte range of a target; `array` is an index into `Layout.arrays`."""

    key: str
    array: int
    offset: Count
    length: Count


class Layout(Struct, frozen=True):
    """A target and a window of it, in bytes."""

    url: str | None  # Null: the reader names it
    start: Count
    stop: Count
    end: Count
    ranges: Count
    # whole, whole_keys: How many keys refer to all of it, and the first of them
    whole: Count
    whole_keys: tuple[str, ...]
    bytes: Count  # That are referred to, each counted once
    gaps: Count
    gap_bytes: Count
    # shared, shared_bytes: Intervals that more than one range has, and their bytes
    shared: Count
    shared_bytes: Count
    arrays: tuple[MapArray, ...]
    # The ranges of the window; null where there are too many to list
    shown: tuple[MapRange, ...] | None
    unlisted: Count  # Generated keys that were not evaluated


class TargetsChecked(Struct, frozen=True):
    """The result of a check."""

    summary: str
    grants: tuple[str, ...]  # What `allow` needs for the targets that were not asked


_ALL = TargetQuery()
_GOOD = Known(None, "good", None)
_FILE_WORDS = {
    FileState.READ: "good",
    FileState.DAMAGED: "damaged",
    FileState.UNREACHABLE: "unreachable",
    FileState.DENIED: "access denied",
    FileState.CHANGED: "changed",
}
"""Of files of other states nothing is known."""


def sorted_targets(refs: ReferenceSet, report: JobReport) -> TargetIndex:
    """Return the references by target, sorted now unless they were before."""
    references = counted(refs.count, "reference")
    with watched(steps_of(report, f"Sorting {references} by their files")):
        return internals(refs).target_index


class TargetMapView:
    """Handles the requests of the table and the map of targets."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._did = context.did
        self._checked: dict[str | None, Known] = {}
        self._all_known: dict[str | None, Known] = {}
        self._listing = TargetListing(self._refs, self._known)
        self._reports: tuple[Report | None, Report | None] = (None, None)

    @job("targets.rows", in_turn=True)
    def rows(self, report: JobReport, start: int, n: int, query: TargetQuery = _ALL) -> TargetPage:
        """List targets."""
        sorted_targets(self._refs, report)
        start, n = within(start, n)
        rows, total, targets = self._listing.rows(query, start, n)
        return TargetPage(start, total, tuple(rows), targets)

    @job("targets.list", in_turn=True, buffers="UTF-8.")
    def list(
        self,
        report: JobReport,
        query: TargetQuery,
        # ``text``: one name on each line; ``csv``: with what is known of each
        form: Literal["text", "csv"],
    ) -> tuple[TargetList, Buffers]:
        """Return the targets of a query as a list of names, or as a table."""
        sorted_targets(self._refs, report)
        text, written, total = self._listing.text(query, form)
        ending = "csv" if form == "csv" else "txt"
        name = f"{self._refs.source.name}.targets.{ending}"
        return TargetList(name, written, total), [text.encode(errors="replace")]

    @job("targets.dates", in_turn=True)
    def dates(self, report: JobReport, query: TargetQuery = _ALL) -> TargetDates:
        """Count the targets of a query by date."""
        sorted_targets(self._refs, report)
        return self._listing.periods(query)

    @job("targets.summary", in_turn=True)
    def summary(self, report: JobReport) -> TargetsSummary:
        """Count the targets by location, and find those with problems."""
        index = sorted_targets(self._refs, report)
        places = _places(index.names)
        # a file that may not be read yet was not checked
        known = {url: at for url, at in self._known().items() if at.state != "not allowed"}
        lost = [url for url in index.urls if url in known and known[url].state != "good"]
        rows = tuple(self._listing.target(url) for url in lost[:_LOST_NAMED])
        return TargetsSummary(
            index.count,
            places[:_PLACES_NAMED],
            len(places),
            sum(url in known for url in index.urls) if known else 0,
            rows,
            len(lost),
            index.unlisted,
        )

    def _known(self) -> Mapping[str | None, Known]:
        """Return the results of the last audit, comparison and check for each target."""
        reports = (self._refs.audited, self._refs.verified)
        if reports != self._reports:
            self._reports = reports
            audit, verified = reports
            self._all_known = {
                **({} if verified is None else self._compared(verified)),
                **({} if audit is None else self._known_by(audit)),
                **self._checked,
            }
        return self._all_known

    def _compared(self, verified: Report) -> dict[str | None, Known]:
        """Return the results of comparing the set with its files for each target."""
        found: dict[str | None, Known] = {}
        for row in verified.files().to_pylist():
            is_short = any(each["cause"] == "range-past-end" for each in row["findings"])
            word = "short" if is_short else _FILE_WORDS.get(row["file"])
            # a file has a row for each array
            if word is not None and found.get(row["target"], _GOOD).state == "good":
                found[row["target"]] = Known(None, word, row["message"])
        return self._by_url(found)

    @job("targets.check", unsaved="This saved page cannot check the files")
    def check(self, report: JobReport) -> TargetsChecked:
        """Request the size of each target; `targets.rows` then has sizes and states."""
        self._did(code_of_check(self._targets.policy.granted))
        terms = CheckTerms.of_verb("check --targets")
        reading = reading_of(self._refs, self._targets)
        look = TargetsLook(reading, "none", is_check=True)
        checked = checked_by(look, self._refs, reading, terms, report)
        found = self._known_by(checked)
        self._checked |= found
        self._all_known = {**self._all_known, **found}
        text = f"{checked.headline.text}. {' '.join(checked.summary)}"
        return TargetsChecked(text[:1].upper() + text[1:], checked.counts.grants[:_GRANTS_NAMED])

    def _known_by(self, checked: Report) -> dict[str | None, Known]:
        """Return the results in a report for each target."""
        rows = checked.files().to_pylist()
        return self._by_url(
            {row["target"]: Known(row["size"], _word_of(row), row["message"]) for row in rows}
        )

    def _by_url(self, seen: Mapping[str | None, Known]) -> dict[str | None, Known]:
        """Return the results for each target, by its URL instead of its display name."""
        urls = internals(self._refs).target_index.urls
        names = {url: None if url is None else masked_url(url) for url in urls}
        return {url: seen[name] for url, name in names.items() if name in seen}

    @job(
        "target.show",
        unsaved="This part of the file was not drawn when the page was saved",
        in_turn=True,
        buffers="float64: edges of n bins (n + 1); then for each bin the bytes covered, those "
        "covered twice, ranges that begin there, and the array of most bytes (place in `arrays`, "
        "or -1).",
        sends="layout",
    )
    def show(
        self,
        report: JobReport,
        # Null is the target that the reader names; left out: the first one
        url: str | UnsetType | None = UNSET,
        window: tuple[int, int] | None = None,  # In bytes; null: everything
    ) -> tuple[Layout | None, Buffers]:
        """Draw which bytes of a target are referenced; null if the set has no targets."""
        sorted_targets(self._refs, report)
        first = self._refs.targets(0, 1)
        if not first:
            return None, []
        layout = self._layout(first[0].url if url is UNSET else url)
        start, stop = _window(window, layout.end)
        bins = layout.bins(start, stop, BINS)
        arrays = (bins.edges, bins.covered, bins.shared, bins.ranges, bins.arrays)
        return self._model(layout, start, stop), [floats(each) for each in arrays]

    def _layout(self, url: str | None) -> TargetLayout:
        try:
            return self._refs.layout(internals(self._refs).target_index.named(url))
        except KeyError:
            raise RefexplorerError(f"No reference points to {url!r}.") from None

    def _model(self, layout: TargetLayout, start: int, stop: int) -> Layout:
        shown = layout.ranges(start, stop, RANGES_SHOWN)
        index = internals(self._refs).target_index
        return Layout(
            index.name_of(layout.url),
            start,
            stop,
            layout.end,
            len(layout),
            layout.whole,
            tuple(layout.whole_keys(WHOLE_KEYS_SHOWN)),
            layout.covered.total,
            len(layout.gaps.starts),
            layout.gaps.total,
            len(layout.shared.starts),
            layout.shared.total,
            tuple(map(MapArray, layout.arrays, layout.numbers)),
            None if shown is None else tuple(_range(each, layout) for each in shown),
            index.unlisted,
        )


def _word_of(row: Mapping[str, Any]) -> str:
    """Return the table's word for the state of a target."""
    if row["state"] != FileState.ASKED:
        return str(row["state"])
    found = {"short": row["past_end"], "damaged": row["failed"]}
    return next((word for word, count in found.items() if count), "good")


def _places(urls: Sequence[str | None]) -> tuple[TargetPlace, ...]:
    """Count URLs by location, those with most targets first."""
    named = text_column([url or "" for url in urls])
    found = pc.replace_substring_regex(named, pattern=_PLACE, replacement=r"\1").value_counts()
    places, counts = found.field(0).to_pylist(), numbers_of(found.field(1))
    order = np.argsort(-counts, kind="stable")
    return tuple(TargetPlace(places[at], int(counts[at])) for at in order)


def _range(found: TargetRange, layout: TargetLayout) -> MapRange:
    return MapRange(found.key, layout.arrays.index(found.array), found.offset, found.length)


def _window(window: tuple[int, int] | None, end: int) -> tuple[int, int]:
    """Return the window within the target; all of it by default."""
    if window is None:
        return 0, max(end, 1)
    start, stop = window
    if not 0 <= start < stop:
        raise RefexplorerError(f"There are no bytes from {start:,} to {stop:,}.")
    return start, stop


PART = ExplorerPart(
    "targets", "Files", "Files", (TargetMapView,), place=5, paints="target", address=("files",)
)
