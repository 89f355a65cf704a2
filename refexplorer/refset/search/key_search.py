"""Search for keys: by substring, glob or regular expression, and by kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

import numpy as np

from refexplorer.errors import LimitError
from refexplorer.formats.buffers.arrow import number_column
from refexplorer.refset.columns.reference_columns import KINDS
from refexplorer.refset.columns.table import Table
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.search.key_lines import KeyLines
from refexplorer.refset.search.key_names import GridNames, names_of_tree
from refexplorer.refset.search.pattern_matching import Matcher
from refexplorer.refset.segments.generated_columns import generated_tables
from refexplorer.refset.segments.records import Records
from refexplorer.refset.segments.segment import Generated
from refexplorer.spec.core.references import Kind

SEARCHED_KEYS = 1_000_000
"""Generated keys of one segment that a search goes through."""
_AT_ONCE = 10_000


class KeySearch:
    """A search over the keys of a set; what one search writes out makes the next one faster.

    Parameters
    ----------
    opened
        The set.
    """

    def __init__(self, opened: OpenedSet) -> None:
        self._parts: list[KeyLines | Generated] = []
        grids = GridNames()
        for part in opened.parts:
            if isinstance(part, Table):
                self._parts.append(KeyLines(part, lambda: names_of_tree(opened.tree)))
            elif isinstance(part, Records):
                self._parts.append(KeyLines(part, partial(grids.of, part)))
            elif isinstance(part, Generated):
                self._parts.append(part)

    def find(
        self, text: str, mode: str, kinds: Collection[Kind] = (), targets: bool = False
    ) -> Iterator[str]:
        """Yield the keys that match, in the order of the set.

        Parameters
        ----------
        text
            What to look for; a ``*`` of a glob also stands for slashes.
        mode
            One of `refexplorer.refset.search.pattern_matching.MODES`.
        kinds
            Which kinds to look at; none stands for all.

        targets
            Yield after them the keys of references to targets that match; generated ones are not
            among these.

        Raises
        ------
        RefexplorerError
            If the mode is unknown or the regular expression cannot be read.
        LimitError
            After all that was found, if a gen item makes more than `SEARCHED_KEYS`.
        """
        matcher = Matcher(text, mode)
        codes = [KINDS.index(kind) for kind in kinds]
        unfinished = []
        for part in self._parts:
            if isinstance(part, Generated):
                if not matcher.may_be_in(part.folder) or not _may_be_of(part, codes):
                    continue
                yield from _search_generated(part, matcher)
                if part.count > SEARCHED_KEYS:
                    unfinished.append(part)
            else:
                for rows in part.matching(matcher if text or mode == "glob" else None, codes):
                    for start in range(0, len(rows), _AT_ONCE):
                        yield from part.segment.keys_at(rows[start : start + _AT_ONCE]).to_pylist()
        if targets and text:
            yield from self._find_in_targets(matcher, codes)
        if unfinished:
            raise LimitError(
                f"Only the first {SEARCHED_KEYS:,} of the {unfinished[0].count:,} keys of "
                f"{unfinished[0].origin} were searched."
            )

    def _find_in_targets(self, matcher: Matcher, codes: list[int]) -> Iterator[str]:
        """Yield the keys that do not match, but whose target does."""
        for part in self._parts:
            if isinstance(part, Generated):
                continue
            columns = part.segment.columns
            is_found = np.isin(columns.targets, matcher.urls_of(columns))
            if codes:
                is_found &= np.isin(columns.kinds, codes)
            rows = np.flatnonzero(is_found)
            for start in range(0, len(rows), _AT_ONCE):
                keys = part.segment.keys_at(rows[start : start + _AT_ONCE])
                others = np.flatnonzero(~matcher.matches(keys))
                yield from keys.take(number_column(others)).to_pylist()


def _may_be_of(part: Generated, codes: list[int]) -> bool:
    made = Kind.URL if part.item.offset is None else Kind.RANGE
    return not codes or KINDS.index(made) in codes


def _search_generated(part: Generated, matcher: Matcher) -> Iterator[str]:
    for table in generated_tables(part, 0, SEARCHED_KEYS):
        found = np.flatnonzero(matcher.matches(table.keys))
        yield from table.keys_at(found).to_pylist()
