"""Search for keys: by substring, glob or regular expression, and by kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from refexplorer.refset.columns import KINDS
from refexplorer.refset.generated import generated_tables
from refexplorer.refset.key_lines import KeyLines
from refexplorer.refset.matching import Matcher
from refexplorer.refset.opened import OpenedSet
from refexplorer.refset.records import Records
from refexplorer.refset.segments import Generated
from refexplorer.refset.table import Table
from refexplorer.spec.references import Kind

SEARCHED_KEYS = 1_000_000
"""Generated keys of one segment that a search goes through."""
_AT_ONCE = 10_000


class KeySearch:
    """Searches the keys of a set; what one search wrote down makes the next one faster.

    Parameters
    ----------
    opened
        The set.
    """

    def __init__(self, opened: OpenedSet) -> None:
        self._parts: list[KeyLines | Generated] = []
        for part in opened.parts:
            if isinstance(part, Table | Records):
                self._parts.append(KeyLines(part))
            elif isinstance(part, Generated):
                self._parts.append(part)

    def find(self, text: str, mode: str, kinds: Collection[Kind] = ()) -> Iterator[str]:
        """Yield the keys that match, in the order of the set.

        Parameters
        ----------
        text
            What to look for; a ``*`` of a glob also stands for slashes.
        mode
            One of `refexplorer.refset.matching.MODES`.
        kinds
            Which kinds to look at; none stands for all.

        Raises
        ------
        RefexplorerError
            If the mode is unknown or the regular expression cannot be read.
        """
        matcher = Matcher(text, mode)
        codes = [KINDS.index(kind) for kind in kinds]
        for part in self._parts:
            if isinstance(part, Generated):
                yield from _search_generated(part, matcher, codes)
            else:
                for rows in part.matching(matcher if text or mode == "glob" else None, codes):
                    for start in range(0, len(rows), _AT_ONCE):
                        yield from part.segment.keys_at(rows[start : start + _AT_ONCE]).to_pylist()


def _search_generated(part: Generated, matcher: Matcher, codes: list[int]) -> Iterator[str]:
    made = Kind.URL if part.item.offset is None else Kind.RANGE
    if not matcher.may_be_in(part.folder) or (codes and KINDS.index(made) not in codes):
        return
    for table in generated_tables(part, 0, SEARCHED_KEYS):
        found = np.flatnonzero(matcher.matches(table.keys))
        yield from table.keys_at(found).to_pylist()
