"""The map of a target: which of its bytes are referenced, and the table of all targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from msgspec import UNSET

from refexplorer.checks.engine import AuditProgress, Manner, run
from refexplorer.checks.states import FileState
from refexplorer.checks.targets_look import TargetsLook
from refexplorer.checks.terms import CheckTerms
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.masking import masked_url
from refexplorer.core.text import counted
from refexplorer.formats.columns.arrow import numbers_of, text_column
from refexplorer.refset.contents import internals
from refexplorer.refset.target_layout import TargetLayout, TargetRange
from refexplorer.views.code.cells import code_of_check
from refexplorer.views.health.health_controller import WORKERS, reading_of
from refexplorer.views.maps.target_listing import Known, TargetListing
from refexplorer.views.wire.answering import Buffers, Operations, floats
from refexplorer.views.wire.context import ViewContext
from refexplorer.views.wire.explorer.targets_messages import (
    CheckTargets,
    DateTargets,
    Layout,
    ListTargets,
    MapArray,
    MapRange,
    ShowTarget,
    SumTargets,
    TargetDates,
    TargetList,
    TargetPage,
    TargetPlace,
    TargetReply,
    TargetRows,
    TargetsChecked,
    TargetsSummary,
)
from refexplorer.views.wire.jobs import JobReport, go_on, unheard

if TYPE_CHECKING:
    from refexplorer.checks.report import Report

ROWS = 1000
"""Most rows that one answer carries."""
BINS = 400  # bars along a file
RANGES_SHOWN = 400  # byte ranges in one answer; of more the bars alone
WHOLE_KEYS_SHOWN = 20  # keys of whole-file references in one answer
_GRANTS_NAMED = 8  # places to allow that an answer names
_PLACES_NAMED = 8  # places that an answer names
_FINE = ("good", "not written")
_LOST_NAMED = 12  # lost files that an answer names
_PLACE = r"(?s)^([A-Za-z][A-Za-z0-9+.-]*://[^/]*)?.*$"
"""A protocol with its host, which is all that is told of a URL here."""


class TargetMapView:
    """Answers what the table and the map of targets ask."""

    def __init__(self, context: ViewContext) -> None:
        self._refs = context.references
        self._targets = context.targets
        self._jobs = context.jobs
        self._did = context.did
        self.operations: Operations = {
            TargetRows: self._jobs.in_turn(self.rows),
            ListTargets: self._jobs.in_turn(self.list),
            DateTargets: self._jobs.in_turn(self.dates),
            SumTargets: self._jobs.in_turn(self.summary),
            ShowTarget: self._jobs.in_turn(self.show),
            CheckTargets: self._check,
        }
        self._checked: dict[str | None, Known] = {}
        self._all_known: dict[str | None, Known] = {}
        self._listing = TargetListing(self._refs, self._known)
        self._audit: tuple[Report, dict[str | None, Known]] | None = None

    def rows(self, request: TargetRows, report: JobReport = unheard) -> tuple[TargetPage, Buffers]:
        """Answer ``targets.rows``."""
        self._sort(report)
        start, n = max(request.start, 0), min(max(request.n, 0), ROWS)
        rows, total, targets = self._listing.rows(request.query, start, n)
        return TargetPage(start, total, tuple(rows), targets), []

    def list(self, request: ListTargets, report: JobReport = unheard) -> tuple[TargetList, Buffers]:
        """Answer ``targets.list``."""
        self._sort(report)
        text, written, total = self._listing.text(request.query, request.form)
        ending = "csv" if request.form == "csv" else "txt"
        name = f"{self._refs.source.name}.targets.{ending}"
        return TargetList(name, written, total), [text.encode(errors="replace")]

    def dates(
        self, request: DateTargets, report: JobReport = unheard
    ) -> tuple[TargetDates, Buffers]:
        """Answer ``targets.dates``."""
        self._sort(report)
        return self._listing.periods(request.query), []

    def summary(
        self, request: SumTargets, report: JobReport = unheard
    ) -> tuple[TargetsSummary, Buffers]:
        """Answer ``targets.summary``."""
        self._sort(report)
        index = internals(self._refs).target_index
        places = _places(index.names)
        known = self._known()
        lost = [url for url in index.urls if url in known and known[url].state not in _FINE]
        rows = tuple(self._listing.target(url) for url in lost[:_LOST_NAMED])
        return TargetsSummary(
            index.count,
            places[:_PLACES_NAMED],
            len(places),
            sum(url in known for url in index.urls) if known else 0,
            rows,
            len(lost),
            index.unlisted,
        ), []

    def _known(self) -> Mapping[str | None, Known]:
        """Return what the last audit and the last check found of each target."""
        audit = self._refs.audited
        if audit is not None and (self._audit is None or self._audit[0] is not audit):
            self._audit = audit, self._known_by(audit)
            self._all_known = {**self._audit[1], **self._checked}
        return self._all_known

    def _check(self, request: CheckTargets) -> None:
        self._did(code_of_check(self._targets.policy.granted))
        self._jobs.start(request, self._ask_all)

    def _ask_all(self, report: JobReport) -> tuple[TargetsChecked, Buffers]:
        """Ask each target that may be read for its size."""

        def watch(progress: AuditProgress) -> bool:
            done, of = progress.audited, progress.total
            if of is None:
                return report(None, None, f"Listing references: {progress.listed:,}")
            return report(done, of, f"{done:,} of {of:,} references")

        inside, terms = internals(self._refs), CheckTerms.of_verb("check --targets")
        reading = reading_of(self._refs, self._targets)
        look, manner = (
            TargetsLook(reading, "none", is_check=True),
            Manner(None, WORKERS, watch=watch),
        )
        name = self._refs.source.name
        checked = run(name, inside.opened, inside.findings, reading, terms, look, manner)
        found = self._known_by(checked)
        self._checked |= found
        self._all_known = {**self._all_known, **found}
        text = f"{checked.headline.text}. {' '.join(checked.summary)}"
        return TargetsChecked(
            text[:1].upper() + text[1:], checked.counts.grants[:_GRANTS_NAMED]
        ), []

    def _known_by(self, checked: Report) -> dict[str | None, Known]:
        """Return what a report says of each target."""
        rows = {row["target"]: row for row in checked.files().to_pylist()}
        urls = internals(self._refs).target_index.urls
        seen = {url: None if url is None else masked_url(url) for url in urls}
        found = {url: rows[name] for url, name in seen.items() if name in rows}
        return {
            url: Known(row["size"], _word_of(row), row["message"]) for url, row in found.items()
        }

    def _sort(self, report: JobReport) -> None:
        """Put all references in the order of their targets, if that was not done before."""
        references = counted(self._refs.count, "reference")
        go_on(report, 0, 2, f"Sorting {references} by their targets")
        internals(self._refs).target_index  # noqa: B018  sorted when first asked for
        go_on(report, 1, 2, "Sorted")

    def show(self, request: ShowTarget, report: JobReport = unheard) -> tuple[TargetReply, Buffers]:
        """Answer ``target.show``; ``layout`` is None if the set has no targets."""
        self._sort(report)
        first = self._refs.targets(0, 1)
        if not first:
            return TargetReply(None), []
        layout = self._layout(first[0].url if request.url is UNSET else request.url)
        start, stop = _window(request.window, layout.end)
        bins = layout.bins(start, stop, BINS)
        arrays = (bins.edges, bins.covered, bins.shared, bins.ranges, bins.arrays)
        return TargetReply(self._model(layout, start, stop)), [floats(each) for each in arrays]

    def _layout(self, url: str | None) -> TargetLayout:
        try:
            return self._refs.layout(internals(self._refs).target_index.named(url))
        except KeyError:
            raise RefexplorerError(f"No reference has the target {url!r}.") from None

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
    """Return the word of the table for the state of a target."""
    if row["state"] != FileState.ASKED:
        return str(row["state"])
    found = {"short": row["past_end"], "damaged": row["failed"], "not written": row["unwritten"]}
    return next((word for word, count in found.items() if count), "good")


def _places(urls: Sequence[str | None]) -> tuple[TargetPlace, ...]:
    """Count URLs by the place that they begin with, those of most targets first."""
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
