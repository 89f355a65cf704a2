"""The result store of a run: one file per part, with the versions of its targets.

In a permanent folder it is a parquet file that appears when complete. Its metadata identify the
part and the versions of its targets, so that an audit resumes after the last finished part, and
never with results of another set or of files that have changed since.
"""

from __future__ import annotations

import json
import os
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from refexplorer.checks.parts import Part
from refexplorer.core.errors import SourceError
from refexplorer.core.files import refuse_url, writing
from refexplorer.core.text import masked_text, masked_url
from refexplorer.io.fetch.changes import TargetVersion

_COUNTING = dict.fromkeys(("chunk", "number", "offset"), "DELTA_BINARY_PACKED")
_REPEATED = ["array", "target", "length", "state", "file", "overlap", "message", "target_size",
             "etag", "modified", "grant"]  # fmt: skip
PARQUET: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": _REPEATED,
    "column_encoding": {"key": "DELTA_BYTE_ARRAY"} | _COUNTING,
}  # How results are written: ascending columns take almost no space
_PASSING = pa.ipc.IpcWriteOptions(compression="lz4")
"""What goes away with the report is written in a third of the time, four times as large."""
_FINGERPRINT = b"refexplorer.part"
_WRITTEN = b"refexplorer.written"
_SORTING = "_sorting"
_ADDRESSES = ("target", "message", "grant")  # Columns whose texts may name one
REDONE = {"not allowed", "file not read", "unreachable", "codec not installed", "failed"}
"""What has one of these states is done again: it may be allowed or answer by now."""


class ResultStore:
    """The results of the finished parts."""

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        resume: bool,
        encoding: Mapping[str, Any] = PARQUET,
        n_shares: int = 0,
    ) -> None:
        self.manner = ""  # What results depend on in addition to their part
        self._encoding, self._n_shares = encoding, n_shares
        self.finished: dict[int, Path] = {}  # The files of the parts, by their numbers
        self._planned: set[Path] = set()
        self.is_kept = folder is not None
        self.keeps_versions = self.is_kept  # Whether results have the versions of their targets
        if folder is None:
            self.folder = Path(mkdtemp(prefix="refexplorer-results-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
            return
        self.folder = Path(folder)
        refuse_url(self.folder)
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
        """Return an empty folder for temporary data of the audit."""
        self.clear()
        path = self.folder / _SORTING
        try:
            path.mkdir()
        except OSError as error:
            raise self._refusal(error) from None
        return path

    def clear(self) -> None:
        """Remove the temporary folder, also one left over after a crash."""
        shutil.rmtree(self.folder / _SORTING, ignore_errors=True)

    def has(
        self, part: Part, versions: Callable[[Sequence[str]], Mapping[str, TargetVersion | None]]
    ) -> bool:
        """Return whether a part was finished with the same references and the same targets."""
        # Outdated results are removed.
        if not self.is_kept:
            return False
        path = self._path(part)
        kept = None
        try:
            with path.open("rb") as opened, pq.ParquetFile(opened) as file:
                metadata = file.schema_arrow.metadata or {}
                states = file.read(["state"])["state"].unique().to_pylist()
            if metadata.get(_FINGERPRINT) == self._fingerprint(part) and not REDONE & {*states}:
                kept = from_metadata(metadata)
        except (OSError, pa.ArrowException):
            pass
        has = kept is not None
        if kept:
            urls = part.rows["target"].unique().to_pylist()
            now = versions([url for url in urls if url is not None])
            seen = {masked_url(url): version for url, version in now.items()}
            has = all(is_same(version, seen.get(url)) for url, version in kept.items())
        if has:
            self.finished[part.number] = path
        else:
            path.unlink(missing_ok=True)
        return has

    def earlier(self, part: Part) -> tuple[Path, datetime] | None:
        """Return the earlier results of a part of another share, and when they were written."""
        path = self._path(part)
        with suppress(OSError, pa.ArrowException, KeyError, ValueError):
            metadata = pq.read_schema(path).metadata or {}
            if metadata.get(_FINGERPRINT) == self._fingerprint(part):
                return path, datetime.fromisoformat(metadata[_WRITTEN].decode())
        return None

    def earlier_versions(self) -> dict[str, TargetVersion]:
        """Return the versions of targets for which the results in the folder were made."""
        found: dict[str, TargetVersion] = {}
        for path in sorted(self.folder.glob("part-*.parquet")):
            with suppress(OSError, pa.ArrowException):
                kept = from_metadata(pq.read_schema(path).metadata or {}) or {}
                found |= {url: version for url, version in kept.items() if version is not None}
        return found

    def write(self, part: Part, results: pa.Table) -> None:
        """Store the results of a part; in a permanent folder, with secrets masked."""
        path = self._path(part)
        if self.is_kept:
            results = seen_table(results)
            now = datetime.now(UTC).isoformat(timespec="seconds").encode()
            metadata = {**(results.schema.metadata or {}), _WRITTEN: now}
            metadata[_FINGERPRINT] = self._fingerprint(part)
            with writing(path, as_it_is=True) as file:
                pq.write_table(results.replace_schema_metadata(metadata), file, **self._encoding)
        else:
            try:
                with (
                    path.open("wb") as file,
                    pa.ipc.new_file(file, results.schema, options=_PASSING) as writer,
                ):
                    writer.write_table(results)
            except OSError as error:
                raise self._refusal(error) from None
        self.finished[part.number] = path

    def drop_others(self) -> None:
        """Remove results of parts that the set no longer has."""
        for path in {*self.folder.glob("part-*.parquet")} - self._planned:
            path.unlink(missing_ok=True)

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the results of the finished parts, in order."""
        for number in sorted(self.finished):
            yield self.table(number, columns)

    def table(self, number: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the results of a finished part."""
        with self.finished[number].open("rb") as opened:
            if self.is_kept:
                with pq.ParquetFile(opened) as file:
                    return file.read(columns)
            if columns is None:
                return pa.ipc.open_file(opened).read_all()
            names = pa.ipc.open_file(opened).schema.names
            fields = pa.ipc.IpcReadOptions(included_fields=[names.index(each) for each in columns])
            return pa.ipc.open_file(opened, options=fields).read_all().select(columns)

    def _refusal(self, error: OSError) -> SourceError:
        said = (error.strerror or str(error)).lower()
        return SourceError(f"Results cannot be kept in {str(self.folder)!r}: {said}.")

    def _fingerprint(self, part: Part) -> bytes:
        return (part.fingerprint + self.manner).encode()

    def _path(self, part: Part) -> Path:
        share = f"-{part.share}of{self._n_shares}" if part.share else ""
        form = "parquet" if self.is_kept else "arrow"
        path = self.folder / f"part-{part.place:06d}{share}.{form}"
        self._planned.add(path)
        return path


def seen_table(results: pa.Table) -> pa.Table:
    """Return results that are safe to display: without secrets in URLs."""
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


METADATA_KEY = b"refexplorer.targets"


def as_metadata(versions: Mapping[str, TargetVersion | None]) -> dict[bytes, bytes]:
    """Return versions as table metadata."""
    return {METADATA_KEY: json.dumps({masked_url(url): v for url, v in versions.items()}).encode()}


def from_metadata(metadata: Mapping[bytes, bytes]) -> dict[str, TargetVersion | None] | None:
    """Return the versions that `as_metadata` wrote; None if there are none."""
    try:
        found = json.loads(metadata[METADATA_KEY])
        return {url: None if kept is None else tuple(kept) for url, kept in found.items()}
    except (KeyError, ValueError, AttributeError, TypeError):
        return None


def is_same(kept: TargetVersion | None, now: TargetVersion | None) -> bool:
    """Return whether a target is known to be unchanged; a store without versions cannot tell."""
    if kept is None or now is None:
        return kept is now
    return kept == now and any(kept[1:])
