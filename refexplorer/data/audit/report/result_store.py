"""The store of the results of an audit or a verification: a parquet file for each part.

A file appears when all of it is written, and says in its metadata what part it is of, so that an
audit goes on after the last finished part, and never with results of another set.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from refexplorer.data.audit.plan.audit_parts import Part
from refexplorer.data.audit.plan.states import STATES
from refexplorer.errors import SourceError
from refexplorer.formats.files.atomic import writing
from refexplorer.masking import masked_text

_COUNTING = dict.fromkeys(("chunk", "number", "offset"), "DELTA_BINARY_PACKED")
_REPEATED = ["array", "target", "length", "state", "overlap", "message", "target_size", "etag",
             "modified", "grant"]  # fmt: skip
PARQUET: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": _REPEATED,
    "column_encoding": {"key": "DELTA_BYTE_ARRAY"} | _COUNTING,
}
"""How results are written: what grows from row to row takes next to nothing."""
_FINGERPRINT = b"refexplorer.part"
_SORTING = "_sorting"
_ADDRESSES = ("target", "message", "grant")
"""Columns whose texts may name one."""
REDONE = STATES[-1]
"""What has this state is done once more: it was not allowed."""


class ResultStore:
    """The results of the parts that are finished.

    Parameters
    ----------
    folder
        Made if it is not there; None takes one that goes away with this object.
    resume
        Use what is there; otherwise the folder must have no results.
    encoding
        How the tables are written.

    Attributes
    ----------
    finished
        The parts that have results.
    manner
        What else results depend on, besides their part; those of another manner are not used.

    Raises
    ------
    SourceError
        If there are results and they are not to be used, or the folder cannot be written.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        resume: bool,
        encoding: Mapping[str, Any] = PARQUET,
    ) -> None:
        self.manner = ""
        self._encoding = encoding
        self.finished: set[int] = set()
        self._is_kept = folder is not None
        if folder is None:
            self.folder = Path(mkdtemp(prefix="refexplorer-results-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
            return
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            there = next(self.folder.glob("part-*.parquet"), None)
        except OSError as error:
            raise self._refusal(error) from None
        if there is not None and not resume:
            raise SourceError(
                f"{str(self.folder)!r} already has results; resume them, or name a new folder."
            )

    def sorting(self) -> Path:
        """Return an empty folder for what is only needed while the audit goes on."""
        self.clear()
        path = self.folder / _SORTING
        try:
            path.mkdir()
        except OSError as error:
            raise self._refusal(error) from None
        return path

    def clear(self) -> None:
        """Remove that folder, also one that an end of the machine left."""
        shutil.rmtree(self.folder / _SORTING, ignore_errors=True)

    def has(self, part: Part) -> bool:
        """Say whether a part was finished, with the same references and all of them allowed.

        What is there of it otherwise is removed.
        """
        path = self._path(part.number)
        try:
            with pq.ParquetFile(path) as file:
                written = (file.schema_arrow.metadata or {}).get(_FINGERPRINT)
                has = written == self._fingerprint(part)
                has = has and REDONE not in file.read(["state"])["state"].unique().to_pylist()
        except (OSError, pa.ArrowException):
            has = False
        if has:
            self.finished.add(part.number)
        else:
            path.unlink(missing_ok=True)
        return has

    def write(self, part: Part, results: pa.Table) -> None:
        """Keep the results of a part; in a folder that stays as people may see them."""
        results = seen_table(results) if self._is_kept else results
        metadata = {_FINGERPRINT: self._fingerprint(part)}
        with writing(self._path(part.number), as_it_is=True) as file:
            pq.write_table(results.replace_schema_metadata(metadata), file, **self._encoding)
        self.finished.add(part.number)

    def drop_others(self, count: int) -> None:
        """Remove results of parts that the set does not have, as it had before it changed."""
        for path in self.folder.glob("part-*.parquet"):
            number = path.stem.removeprefix("part-")
            if number.isdecimal() and int(number) >= count:
                path.unlink(missing_ok=True)

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the results of the finished parts, in order."""
        for number in sorted(self.finished):
            with pq.ParquetFile(self._path(number)) as file:
                yield file.read(columns)

    def _refusal(self, error: OSError) -> SourceError:
        said = (error.strerror or str(error)).lower()
        return SourceError(f"Results cannot be kept in {str(self.folder)!r}: {said}.")

    def _fingerprint(self, part: Part) -> bytes:
        return (part.fingerprint + self.manner).encode()

    def _path(self, number: int) -> Path:
        return self.folder / f"part-{number:06d}.parquet"


def seen_table(results: pa.Table) -> pa.Table:
    """Return results as people may see them: without secrets of addresses."""
    for name in _ADDRESSES:
        if name not in results.column_names:
            continue
        at, column = results.column_names.index(name), results[name].combine_chunks()
        words = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        texts = words.dictionary.to_pylist()
        seen = [None if text is None else masked_text(text) for text in texts]
        if seen != texts:
            found = pa.array(seen, words.dictionary.type).take(words.indices)
            results = results.set_column(at, results.field(name), found.cast(column.type))
    return results
