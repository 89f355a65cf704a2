"""References put aside in a file without a name, and taken up again by what they belong to."""

from __future__ import annotations

import json
from collections.abc import Hashable
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import numpy as np

from refexplorer.formats.files.atomic import refused
from refexplorer.refset.columns.joining import joined_columns
from refexplorer.refset.columns.reference_columns import BASE64, INLINE, Columns
from refexplorer.spec.core.references import Range

_ROW = np.dtype(
    [("number", "<i8"), ("offset", "<i8"), ("length", "<i8"), ("target", "<i4"), ("kind", "u1")]
)


class _Spooled(NamedTuple):
    """Where rows stand in the file, and how many bytes of texts behind them."""

    offset: int
    rows: int
    size: int


class Spool:
    """Numbered references on disk, about 30 bytes each, with their URLs and inline texts.

    Parameters
    ----------
    folder
        Where the file lies; it has no name, so nothing stays there whatever happens.
    """

    def __init__(self, folder: Path) -> None:
        with refused(folder):
            # beside the output: /tmp is often memory, too small for the references of a large set
            self._file = TemporaryFile(dir=folder)  # noqa: SIM115  closed with the spool
        self._end = 0
        self._pieces: dict[Hashable, list[_Spooled]] = {}

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def put(self, name: Hashable, numbers: np.ndarray, columns: Columns) -> None:
        """Append references and their numbers, int64, shape ``(n,)``."""
        used = np.unique(columns.targets[columns.targets >= 0])
        targets = np.where(columns.targets < 0, -1, np.searchsorted(used, columns.targets))
        is_text = (columns.kinds == INLINE) | (columns.kinds == BASE64)
        offsets = np.where(is_text, np.cumsum(is_text) - 1, columns.offsets)
        rows = np.empty(len(numbers), _ROW)
        for field, values in zip(
            _ROW.names or (),
            (numbers, offsets, columns.lengths, targets, columns.kinds),
            strict=True,
        ):
            rows[field] = values
        texts = [columns.texts[position] for position in columns.offsets[is_text].tolist()]
        large = [(row, found.offset, found.length) for row, found in columns.large.items()]
        tail = json.dumps([columns.urls_at(used), texts, large]).encode()
        self._file.seek(self._end)
        self._file.write(rows.tobytes())
        self._file.write(tail)
        self._pieces.setdefault(name, []).append(_Spooled(self._end, len(rows), len(tail)))
        self._end += rows.nbytes + len(tail)

    def take(self, name: Hashable) -> tuple[np.ndarray, Columns]:
        """Return all numbers and references of a name, in the order in which they came."""
        pieces = [self._read(piece) for piece in self._pieces.pop(name)]
        if len(pieces) == 1:
            return pieces[0]
        numbers = np.concatenate([numbers for numbers, _ in pieces])
        return numbers, joined_columns([columns for _, columns in pieces])

    def _read(self, piece: _Spooled) -> tuple[np.ndarray, Columns]:
        self._file.seek(piece.offset)
        rows = np.frombuffer(self._file.read(piece.rows * _ROW.itemsize), _ROW)
        urls, texts, numbers = json.loads(self._file.read(piece.size))
        targets = np.ascontiguousarray(rows["target"])
        large = {row: Range(urls[targets[row]], offset, length) for row, offset, length in numbers}
        kinds, offsets, lengths = (rows[field] for field in ("kind", "offset", "length"))
        return rows["number"], Columns(kinds, targets, urls, offsets, lengths, texts, large)
