"""Explicit references as columns: no Python object for each key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from refexplorer.refset.strings import text_column
from refexplorer.spec.references import Base64, Inline, Kind, Range, Reference, Url

KINDS = tuple(Kind)
_INLINE, _BASE64, _URL, _RANGE = range(4)
_INT64 = 2**63 - 1


@dataclass(frozen=True)
class Table:
    """The explicit references of a set, in the order of the document.

    Attributes
    ----------
    keys
        Column of texts, n rows.
    kinds
        Places in `KINDS`, uint8.
    targets
        Places in `urls` for whole files and ranges, -1 for the others, int32.
    urls
        The distinct URLs; None stands for the target named at open time.
    offsets
        Bytes for a range; the place in `texts` for inline text and base64.
    lengths
        Bytes; 0 for a whole file, whose size is not known.
    texts
        The inline texts.
    large
        The few references whose numbers do not fit into 64 bits.
    """

    keys: pa.LargeStringArray
    kinds: np.ndarray
    targets: np.ndarray
    urls: Sequence[str | None]
    offsets: np.ndarray
    lengths: np.ndarray
    texts: Sequence[str]
    large: dict[int, Range]

    origin = "refs"
    folder = ""

    @property
    def count(self) -> int:
        """How many keys there are."""
        return len(self.keys)

    def key_at(self, row: int) -> str:
        """Return a key by its row."""
        return str(self.keys[row].as_py())

    def reference_at(self, row: int) -> Reference:
        """Return a reference by its row."""
        if row in self.large:
            return self.large[row]
        kind, place = self.kinds[row], int(self.offsets[row])
        if kind == _RANGE:
            return Range(self.urls[self.targets[row]], place, int(self.lengths[row]))
        if kind == _URL:
            return Url(self.urls[self.targets[row]])
        return Inline(self.texts[place]) if kind == _INLINE else Base64(self.texts[place])

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {key: row for row, key in enumerate(self.keys.to_pylist())}

    def find(self, key: str) -> int | None:
        """Return the row of a key, or None."""
        return self._rows.get(key)

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order."""
        stop = self.count if stop is None else min(stop, self.count)
        for row in range(start, stop):
            yield self.key_at(row), self.reference_at(row)

    def select(self, rows: np.ndarray) -> Table:
        """Return a table of some rows, in the order given."""
        return Table(
            self.keys.take(pa.array(rows)),
            self.kinds[rows],
            self.targets[rows],
            self.urls,
            self.offsets[rows],
            self.lengths[rows],
            self.texts,
            {new: self.large[old] for new, old in enumerate(rows.tolist()) if old in self.large},
        )


def build_table(entries: Iterable[tuple[str, Reference]]) -> Table:
    """Put references into columns."""
    builder = _Builder()
    for key, reference in entries:
        builder.add(key, reference)
    return builder.table()


class _Builder:
    def __init__(self) -> None:
        self._keys: list[str] = []
        self._rows: list[tuple[int, int, int, int]] = []
        self._codes: dict[str | None, int] = {}
        self._texts: list[str] = []
        self._large: dict[int, Range] = {}

    def add(self, key: str, reference: Reference) -> None:
        self._keys.append(key)
        if isinstance(reference, Range):
            code = self._code(reference.url)
            offset, length = reference.offset, reference.length
            if offset > _INT64 or length > _INT64:
                self._large[len(self._rows)] = reference
                offset, length = min(offset, _INT64), min(length, _INT64)
            self._rows.append((_RANGE, code, offset, length))
        elif isinstance(reference, Url):
            self._rows.append((_URL, self._code(reference.url), 0, 0))
        else:
            kind = _INLINE if isinstance(reference, Inline) else _BASE64
            self._rows.append((kind, -1, len(self._texts), reference.size))
            self._texts.append(reference.text)

    def _code(self, url: str | None) -> int:
        return self._codes.setdefault(url, len(self._codes))

    def table(self) -> Table:
        columns = np.array(self._rows, np.int64).reshape(-1, 4).T
        return Table(
            text_column(self._keys),
            columns[0].astype(np.uint8),
            columns[1].astype(np.int32),
            tuple(self._codes),
            columns[2].copy(),
            columns[3].copy(),
            self._texts,
            self._large,
        )
