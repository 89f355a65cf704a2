"""Keys as lines of text, many in one text, so that a search looks at many of them at a time.

A text of lines holds no match where no line does, which is most of what a search has to find out.
It costs a byte a key more than the keys, and is written when a search first comes by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import flags_of, number_column
from refexplorer.refset.columns.table import Table
from refexplorer.refset.search.key_names import KeyNames
from refexplorer.refset.search.pattern_matching import Matcher
from refexplorer.refset.segments.records import Records

LINES_TESTED = 2**17
FEW = 2_000_000
"""So few keys that are at hand are gone through faster than they are written as lines."""
LINES = 16


class KeyLines:
    """The keys of a segment, block by block.

    Parameters
    ----------
    segment
        Explicit references, or those of a parquet array.
    make_names
        Makes the names of their keys, once, if that is worth it.
    few
        Up to so many explicit keys are gone through as they are.
    """

    def __init__(
        self,
        segment: Table | Records,
        make_names: Callable[[], KeyNames | None] = lambda: None,
        few: int = FEW,
    ) -> None:
        self.segment = segment
        self._is_worth_it = isinstance(segment, Records) or segment.count > few
        self._names = cache(make_names)
        self._blocks: dict[int, pa.StringArray | None] = {}

    def matching(self, matcher: Matcher | None, kinds: list[int]) -> Iterator[np.ndarray]:
        """Yield the rows that match, ascending, int64, a block at a time.

        Parameters
        ----------
        matcher
            What the keys must match; None stands for all.
        kinds
            Positions in `KINDS`; none stands for all.
        """
        if matcher is not None and not matcher.may_be_in(self.segment.folder):
            return
        suspects = None if matcher is None else self._suspects(matcher)
        for start in range(0, self.segment.count, LINES_TESTED):
            rows = np.arange(start, min(start + LINES_TESTED, self.segment.count))
            fits = self._fits(rows, kinds) if kinds and self.segment.is_read else None
            if fits is not None and not fits.any():
                continue
            found = rows
            if matcher is not None and suspects is not None:
                found = self._checked(rows[suspects[start : start + LINES_TESTED]], matcher)
            elif matcher is not None:
                found = rows[self._places(start, rows, matcher)]
            if fits is not None:
                found = found[fits[found - start]]
            elif kinds:
                found = found[self._fits(found, kinds)]
            yield found

    def _suspects(self, matcher: Matcher) -> np.ndarray | None:
        """Say which rows may match, by the names of the keys; None if they do not tell."""
        parts = matcher.literals.parts
        names = self._names() if parts and self._is_worth_it else None
        return None if names is None else names.holding(parts)

    def _checked(self, rows: np.ndarray, matcher: Matcher) -> np.ndarray:
        """Return those of the suspected rows that match."""
        if matcher.literals.is_all or not len(rows):
            return rows
        found: np.ndarray = rows[matcher.matches(self.segment.keys_at(rows))]
        return found

    def _fits(self, rows: np.ndarray, kinds: list[int]) -> np.ndarray:
        fits: np.ndarray = np.isin(self.segment.kinds_at(rows), kinds)
        return fits

    def _places(self, start: int, rows: np.ndarray, matcher: Matcher) -> np.ndarray:
        """Return the positions in a block that match."""
        use_lines = self._is_worth_it and matcher.across_lines
        lines = self._lines(start, rows) if use_lines else None
        if lines is None:
            return np.flatnonzero(matcher.matches(self.segment.keys_at(rows)))
        # a text that matches says only that one of its lines may: these are asked again, one by one
        texts = np.flatnonzero(matcher.may_match(lines))
        positions = (texts[:, None] * LINES + np.arange(LINES)).ravel()
        positions = positions[positions < len(rows)]
        keys = pc.list_flatten(pc.split_pattern(lines.take(number_column(texts)), "\n"))
        found: np.ndarray = positions[matcher.matches(keys)]
        return found

    def _lines(self, start: int, rows: np.ndarray) -> pa.StringArray | None:
        """Return the keys of a block as texts of lines; None if a key has several lines."""
        if start not in self._blocks:
            keys = self.segment.keys_at(rows)
            broken = flags_of(pc.match_substring(keys, "\n")).any()
            self._blocks[start] = None if broken else _as_lines(keys)
        return self._blocks[start]


def _as_lines(keys: pa.LargeStringArray) -> pa.StringArray:
    bounds = np.append(np.arange(0, len(keys), LINES), len(keys))
    offsets = number_column(bounds).cast(pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(offsets, keys.cast(pa.string())), "\n")
