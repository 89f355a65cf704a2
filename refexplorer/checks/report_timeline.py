"""The files of a report by the dates in their names: where some are wrong, and where none are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.checks.records import DIFFERS, FAILED, FORBIDDEN, SAME, UNCOMPARED
from refexplorer.checks.states import FILE_RANKS, FileState, Rank
from refexplorer.core.text import counted, shown
from refexplorer.refset.targets import dates_of

BINS = 120
"""Bars of the strip; a bar has the files of some days."""
_HEIGHT, _WIDTH = 60, 7
_ROW_RANKS = {
    SAME: Rank.GOOD, DIFFERS: Rank.BAD, FAILED: Rank.BAD, UNCOMPARED: Rank.UNKNOWN,
    FORBIDDEN: Rank.UNKNOWN,
}  # fmt: skip
_DRAWN = {Rank.BAD: ("3", "bad"), Rank.UNKNOWN: ("6", "not known"), Rank.GOOD: ("1", "good")}
"""The colour of each rank and its name, from the bottom up: what is bad is seen however rare."""


def of_rows(tables: Iterable[pa.Table]) -> str:
    """Return the strip of files that were read, from rows of files and arrays."""
    ranks = pa.array([int(rank) for rank in _ROW_RANKS.values()], pa.int8())
    states, parts = pa.array([*_ROW_RANKS]), []
    for part in tables:
        texts = [part[name].cast(pa.string()) for name in ("target", "state")]  # dictionaries
        rank = pc.take(ranks, pc.index_in(texts[1], states))
        parts.append(pa.table({"target": texts[0], "rank": rank}))
    if not parts:
        return ""
    rows = pa.concat_tables(parts).drop_null()
    worst = rows.group_by("target", use_threads=False).aggregate([("rank", "min")])
    return strip(worst["target"].to_pylist(), worst["rank_min"].to_numpy())


def of_targets(targets: pa.Table) -> str:
    """Return the strip of targets that were asked."""
    known = {str(state): int(rank) for state, rank in FILE_RANKS.items()}
    ranks = np.array([known[FileState(each)] for each in targets["state"].to_pylist()], np.int8)
    for name in ("past_end", "failed"):
        ranks[targets[name].fill_null(0).to_numpy() > 0] = Rank.BAD
    return strip(targets["target"].to_pylist(), ranks)


def strip(names: Sequence[str | None], ranks: np.ndarray) -> str:
    """Return bars of the files by date, as SVG; empty if their names have no dates."""
    dates = dates_of(names)
    has = ~np.isnat(dates)
    if not has.any():
        return ""
    seconds, ranks = dates[has].astype(np.int64), ranks[has]
    first, last = int(seconds.min()), int(seconds.max())
    n_bins = min(BINS, len(np.unique(seconds)))
    place = np.minimum((seconds - first) * n_bins // max(last - first, 1), n_bins - 1)
    counts = {rank: np.bincount(place[ranks == rank], minlength=n_bins) for rank in _DRAWN}
    total = np.sum([*counts.values()], axis=0)
    bars = []
    for number in range(n_bins):
        start = first + (last - first) * number // n_bins
        stop = first + (last - first) * (number + 1) // n_bins
        words = ", ".join(
            f"{counts[r][number]:,} {_DRAWN[r][1]}" for r in _DRAWN if counts[r][number]
        )
        title = f"{_day(start)} to {_day(stop)}: {words or 'no files'}"
        bars.append(f"<g><title>{title}</title>{_bar(number, counts, int(total.max()))}</g>")
    n_empty = int(np.count_nonzero(total == 0))
    n_bad = int(counts[Rank.BAD].sum())
    text = f"{counted(len(seconds), 'file')} from {_day(first)} to {_day(last)}, {n_bad:,} bad"
    text += f"; {counted(n_empty, 'stretch', 'stretches')} without files" if n_empty else ""
    size = f'viewBox="0 0 {n_bins * _WIDTH} {_HEIGHT}" preserveAspectRatio="none"'
    return (
        f'<p><b>Files by date</b></p><svg class="timeline" role="img" aria-label="{shown(text)}" '
        f"{size}>{''.join(bars)}</svg><p>{shown(text)}. By the dates in their names.</p>"
    )


def _bar(number: int, counts: dict[Rank, np.ndarray], most: int) -> str:
    """Return the parts of a bar; whoever has one file has a part that can be seen."""
    at, parts = _HEIGHT, []
    for rank, (colour, _) in _DRAWN.items():
        if count := int(counts[rank][number]):
            height = min(max(round(_HEIGHT * count / most), 3), at)
            at -= height
            parts.append(
                f'<rect x="{number * _WIDTH}" y="{at}" width="{_WIDTH - 1}" height="{height}" '
                f'fill="var(--state-{colour})"/>'
            )
    if not parts:
        parts.append(f'<rect x="{number * _WIDTH}" y="0" width="{_WIDTH - 1}" '
                     f'height="{_HEIGHT}" fill="var(--line)" fill-opacity=".4"/>')  # fmt: skip
    return "".join(parts)


def _day(seconds: int) -> str:
    return str(np.datetime64(seconds, "s").astype("datetime64[D]"))
