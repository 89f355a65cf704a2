"""Which gen items surely make no key twice, told from columns of their keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.arrow import text_column
from refexplorer.refset.segments import Generated

MOST_KEYS = 2**21
"""More keys in one folder are not written out for this."""


def folders_of_distinct(made: Iterable[Generated]) -> set[str]:
    """Return the folders in which several gen items make keys, each of them once."""
    by_folder: dict[str, list[Generated]] = defaultdict(list)
    for segment in made:
        by_folder[segment.folder].append(segment)
    return {
        folder
        for folder, segments in by_folder.items()
        if len(segments) > 1 and _are_distinct(segments)
    }


def _are_distinct(segments: list[Generated]) -> bool:
    total = sum(segment.count for segment in segments)
    if total > MOST_KEYS or not all(segment.item.certain for segment in segments):
        return False
    keys = pa.chunked_array(
        [text_column(run.keys) for segment in segments for run in segment.runs()],
        pa.large_string(),
    )
    return len(keys) == total and bool(pc.count_distinct(keys).as_py() == total)
