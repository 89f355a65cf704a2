"""A lock: the state of a set and its files at one time, in a parquet file, and later changes.

A run compares the responses of stores with it. If a store gives neither an ETag nor a time for a
file, whether it changed is unknown, and the report says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from refexplorer.checks.axes import CheckedAxis
from refexplorer.checks.results import ResultStore, from_metadata
from refexplorer.checks.states import FileState
from refexplorer.core.errors import LimitError, SourceError
from refexplorer.core.files import writing
from refexplorer.core.limits import DEFAULT_LIMITS
from refexplorer.core.text import array_text, counted, escape, file_texts, masked_url
from refexplorer.formats.icechunk.history import Recorded
from refexplorer.io.fetch.changes import TargetVersion, version_change
from refexplorer.spec.codes import CODES
from refexplorer.spec.findings import Finding
from refexplorer.spec.zarr_metadata import ArrayMeta

if TYPE_CHECKING:
    from refexplorer.checks.report import Report

_KEY = b"refexplorer.lock"
_SCHEMA = 1
LOCK = pa.schema(
    {
        "target": pa.string(),
        "state": pa.string(),
        "asked": pa.timestamp("s", "UTC"),
        "size": pa.int64(),
        "etag": pa.string(),
        "modified": pa.string(),
        "recorded": pa.list_(pa.struct({"etag": pa.string(), "modified": pa.int64()})),
        "references": pa.int64(),
        "end": pa.int64(),
        "arrays": pa.list_(pa.string()),
        "chunks": pa.list_(pa.int64()),
        "checksums": pa.list_(pa.string()),
    }
)
"""A row for each file: what its store said of it, and when; ``recorded`` is what Icechunk wrote
with the references; ``checksums`` are those of the values of some chunks, by array and number."""
_ANSWERED = frozenset({FileState.ASKED, FileState.READ, FileState.CHANGED})
_OF_VERSION = ["target", "state", "size", "etag", "modified"]
_NAMED = 20
_SHOWN = 3


class LockedArray(NamedTuple):
    """An array when the lock was written."""

    shape: tuple[int, ...]
    listed: int  # Chunks with a reference or inline data
    ends: tuple[str, str] | None = None  # Of a coordinate whose values were known


@dataclass(frozen=True)
class Lock:
    """A lock of a set."""

    name: str  # Of its file
    made: datetime
    arrays: Mapping[str, LockedArray]
    targets: pa.Table  # As `LOCK`

    @classmethod
    def of(
        cls, report: Report, metas: Sequence[ArrayMeta], axes: Collection[CheckedAxis],
        recorded: Recorded,
    ) -> Lock:  # fmt: skip
        """Return the lock for a run that checked the files of a set."""
        now = datetime.now(UTC).replace(microsecond=0)
        arrays = _arrays(metas, report.ledger.listed, axes)
        files = report.files()
        files = files.filter(pc.is_valid(files["target"]))
        sums = _checksums(report.tables())
        sums = sums.take(pc.index_in(files["target"], sums["target"].combine_chunks()))
        known = {masked_url(url): each for url, each in recorded.items()}
        urls = files["target"].to_pylist() if known else []
        versions = [[one._asdict() for one in known.get(url, ())] or None for url in urls]
        columns = {
            "asked": pa.repeat(pa.scalar(now, LOCK.field("asked").type), len(files)),
            "recorded": pa.array(versions or [None] * len(files), LOCK.field("recorded").type),
        }
        columns |= {name: sums[name] for name in ("arrays", "chunks", "checksums")}
        columns |= {name: files[name] for name in LOCK.names if name not in columns}
        return cls(report.source, now, arrays, pa.table(columns).select(LOCK.names).cast(LOCK))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Lock:
        """Read a lock."""
        shown = repr(os.fspath(path))
        try:
            with Path(path).open("rb") as opened, pq.ParquetFile(opened) as file:
                groups = range(file.metadata.num_row_groups)
                size = sum(file.metadata.row_group(n).total_byte_size for n in groups)
                if size > DEFAULT_LIMITS.document_bytes:
                    raise LimitError(f"{shown} has {size:,} bytes, more than a lock may have.")
                found = json.loads((file.schema_arrow.metadata or {})[_KEY])
                if found["schema"] != _SCHEMA:
                    raise SourceError(
                        f"{shown} was written by another version of refexplorer; write it again."
                    )
                targets = file.read().cast(LOCK)
                arrays = {
                    str(name): LockedArray(
                        tuple(map(int, shape)), int(listed), ends and tuple(ends)
                    )
                    for name, (shape, listed, ends) in found["arrays"].items()
                }
                return cls(Path(path).name, datetime.fromisoformat(found["made"]), arrays, targets)
        except OSError as error:
            said = (error.strerror or str(error)).lower()
            raise SourceError(f"The lock {shown} cannot be read: {said}.") from None
        except (pa.ArrowException, KeyError, ValueError, TypeError, AttributeError):
            raise SourceError(
                f"{shown} is not a lock; `refexplorer lock SET -o FILE` writes one."
            ) from None

    def write(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the lock to a file, which appears when complete."""
        said = {"schema": _SCHEMA, "made": self.made.isoformat(), "arrays": self.arrays}
        metadata = {_KEY: json.dumps(said).encode()}
        with writing(Path(path), as_it_is=True, overwrite=overwrite) as file:
            pq.write_table(
                self.targets.replace_schema_metadata(metadata), file, compression="zstd",
                column_encoding={"target": "DELTA_BYTE_ARRAY", "end": "DELTA_BINARY_PACKED"},
                use_dictionary=["state", "modified"],
            )  # fmt: skip

    def joined(self, earlier: Lock, urls: Collection[str | None]) -> Lock:
        """Merge with an earlier lock's entries for the files that were not checked."""
        # Entries for files that are no longer among the `urls` of the set are dropped.
        others = {masked_url(url) for url in urls if url is not None}
        others -= set(self.targets["target"].to_pylist())
        is_other = [name in others for name in earlier.targets["target"].to_pylist()]
        rows = [self.targets, earlier.targets.filter(pa.array(is_other, pa.bool_()))]
        return Lock(self.name, self.made, self.arrays, pa.concat_tables(rows))

    @property
    def title(self) -> str:
        """Its name and time, for use in sentences."""
        return f"{escape(self.name, 100)} of {self.made:%Y-%m-%d %H:%M} UTC"

    def text(self) -> str:
        """Return what it contains and how old that is."""
        states = self.targets["state"].to_pylist()
        answered = sum(state in _ANSWERED for state in states)
        recorded = pc.or_(pc.is_valid(self.targets["etag"]), pc.is_valid(self.targets["modified"]))
        versions = pc.sum(recorded).as_py() or 0
        said = f"{counted(len(states), 'file')}, {answered:,} that answered"
        said += f", {versions:,} with an ETag or a time"
        oldest = pc.min(self.targets["asked"]).as_py()
        if oldest is not None and oldest < self.made:
            said += f"; the oldest answer is of {oldest:%Y-%m-%d %H:%M} UTC"
        return said + "."


def _arrays(
    metas: Sequence[ArrayMeta], listed: Mapping[str, int], axes: Collection[CheckedAxis]
) -> dict[str, LockedArray]:
    ends = {
        each.path: (each.first, each.last)
        for each in axes
        if each.first is not None and each.last is not None
    }
    return {
        meta.path: LockedArray(tuple(meta.shape), listed.get(meta.path, 0), ends.get(meta.path))
        for meta in metas
    }


def _checksums(tables: Iterator[pa.Table]) -> pa.Table:
    """Return the checksums of chunks by file, in three parallel lists."""
    kinds = {"target": "string", "array": "string", "chunk": "int64", "checksum": "string"}
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in kinds.items()])
    found = [schema.empty_table()]
    for part in tables:
        if kinds.keys() <= {*part.column_names}:
            rows = part.select(list(kinds)).filter(pc.is_valid(part["checksum"]))
            found.append(rows.replace_schema_metadata(None).cast(schema))
    rows = pa.concat_tables(found)
    rows = rows.filter(pc.is_valid(rows["target"])).group_by("target", use_threads=False)
    lists = rows.aggregate([(name, "list") for name in ("array", "chunk", "checksum")])
    names = [name.replace("_list", "s") for name in lists.column_names]
    return lists.rename_columns(names)


@dataclass
class _FilesAlike:
    """Files that share the same information."""

    count: int = 0
    files: list[str] = field(default_factory=list)
    first: str = ""  # What changed in the first

    def add(self, url: str, said: str = "") -> None:
        self.count += 1
        self.first = self.first or said
        if len(self.files) < _NAMED:
            self.files.append(url)


class SinceLock:
    """Changes since a lock was written, collected from the results of a run."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        rows = lock.targets
        urls, states, *version = (rows[name].to_pylist() for name in _OF_VERSION)
        kept = zip(urls, zip(states, zip(*version, strict=True), strict=True), strict=True)
        self._kept: dict[str, tuple[str, TargetVersion]] = dict(kept)
        self._seen: set[str] = set()
        self._groups: dict[str, _FilesAlike] = {}
        self._checksums: dict[str, dict[tuple[str, int], str]] = {}
        # The state that a run gave to each changed file, and what changed
        self.changed: dict[str, tuple[str, str]] = {}

    def take(self, store: ResultStore) -> None:
        """Add the responses of stores and the checksums of chunks."""
        for number in sorted(store.finished):
            results = store.table(number)
            versions = from_metadata(results.schema.metadata or {}) or {}
            states = pa.table(
                {name: results[name].cast(pa.string()) for name in ("target", "file")}
            )
            rows = states.group_by(["target", "file"], use_threads=False).aggregate([])
            for url, state in zip(
                rows["target"].to_pylist(), rows["file"].to_pylist(), strict=True
            ):
                if url is not None:
                    self._note(masked_url(url), state, versions.get(masked_url(url)))
            if "checksum" in results.column_names:
                self._take_checksums(results)

    def _note(self, url: str, state: str, version: TargetVersion | None) -> None:
        if url in self._seen:
            return
        self._seen.add(url)
        kind, said = ("added", "")
        if url in self._kept:
            kind, said = _kind(*self._kept[url], state, version)
        if kind == "changed":
            self._change(url, state, said)
        else:
            self._add(kind, url)

    def _add(self, kind: str, url: str, said: str = "") -> None:
        self._groups.setdefault(kind, _FilesAlike()).add(url, said)

    def _change(self, url: str, state: str, said: str) -> None:
        if url not in self.changed:
            self.changed[url] = state, f"Since {self._lock.title}: {said}."
            self._add("changed", url, said)

    def _take_checksums(self, results: pa.Table) -> None:
        """Compare the checksums of chunks that are in both."""
        if not self._checksums:
            rows = self._lock.targets.filter(pc.is_valid(self._lock.targets["checksums"]))
            names = ("target", "arrays", "chunks", "checksums")
            for url, *lists in zip(*(rows[name].to_pylist() for name in names), strict=True):
                found = zip(*lists, strict=True)
                self._checksums[url] = {(path, number): text for path, number, text in found}
        rows = results.filter(pc.is_valid(results["checksum"]))
        for row in rows.select(["target", "file", "array", "chunk", "checksum"]).to_pylist():
            url, state, path, number, checksum = row.values()
            seen = masked_url(url or "")
            if self._checksums.get(seen, {}).get((path, number), checksum) != checksum:
                said = f"chunk {number:,} of {array_text(path)} has other values"
                self._change(seen, state, said)

    def findings(
        self, base: str, urls: Collection[str | None], metas: Sequence[ArrayMeta],
        listed: Mapping[str, int], axes: Collection[CheckedAxis],
    ) -> Iterator[Finding]:  # fmt: skip
        """Yield the changes; `urls` are all files of the set."""
        now = {masked_url(url) for url in urls if url is not None}
        for url in self._kept:
            if url not in now:
                self._add("dropped", url)
        for code, what in _SENTENCES.items():
            if code in self._groups:
                yield self._of_files(code, what, self._groups[code], base)
        arrays, before = _arrays(metas, listed, axes), self._lock.arrays
        for path in dict.fromkeys((*before, *arrays)):
            found = _array_change(before.get(path), arrays.get(path))
            if found is not None:
                yield self._of_array(found[0], path, found[1], base)

    def unknown(self) -> list[str]:
        """Return what is unknown, in words that follow "not known:"."""
        group = self._groups.get("unknown")
        if group is None:
            return []
        return [f"whether {counted(group.count, 'file')} changed (no version to compare)"]

    def text(self) -> str:
        """Return what was compared."""
        counts = {kind: group.count for kind, group in self._groups.items()}
        words = {"changed": "changed", "gone": "gone", "back": "back", "added": "new",
                 "unknown": "not known"}  # fmt: skip
        parts = [f"{counted(counts.get('same', 0), 'file')} with the same version"]
        parts += [f"{counts[kind]:,} {word}" for kind, word in words.items() if kind in counts]
        return f"Compared with {self._lock.title}: {', '.join(parts)}."

    def _of_files(self, code: str, what: tuple[str, str], group: _FilesAlike, base: str) -> Finding:
        names = file_texts(group.files[:_SHOWN])
        names[0] += f" ({group.first})" if group.first else ""
        more = ", …" if group.count > _SHOWN else ""
        files = counted(group.count, f"file {what[0]}", f"files {what[1]}")
        message = f"{files}, compared with {self._lock.title}: {', '.join(names)}{more}"
        return Finding(
            code, CODES[code].severity, base, message, files=tuple(group.files),
            file_count=group.count,
        )  # fmt: skip

    def _of_array(self, code: str, path: str, what: str, base: str) -> Finding:
        message = f"{array_text(path)} {what}, compared with {self._lock.title}"
        return Finding(code, CODES[code].severity, base, message, array=path)


_SENTENCES = {
    "changed": ("has changed", "have changed"),
    "gone": ("cannot be read any more", "cannot be read any more"),
    "back": ("can be read again", "can be read again"),
    "added": ("is new", "are new"),
    "dropped": ("is not referred to any more", "are not referred to any more"),
}


def _kind(
    state_then: str, then: TargetVersion, state: str, version: TargetVersion | None
) -> tuple[str, str]:
    """Return how a file compares with the lock, and what changed."""
    # a chunk of a Zarr store that was not written yet has an answer and no version
    was_there = state_then in _ANSWERED and any(each is not None for each in then)
    if version is None:
        if state not in (FileState.UNREACHABLE, FileState.ASKED):
            return "unknown", ""
        return "gone" if was_there else "same" if state == FileState.ASKED else "absent", ""
    if was_there:
        is_same, said = version_change(then, version)
        return "same" if is_same else "unknown" if is_same is None else "changed", said
    has_answer = state_then != FileState.NOT_ALLOWED and any(each is not None for each in version)
    return "back" if has_answer else "unknown", ""


def _array_change(then: LockedArray | None, now: LockedArray | None) -> tuple[str, str] | None:
    """Return the code and the sentence for a change of an array."""
    if now is None:
        return "dropped", "is not in the set any more"
    if then is None:
        return "added", "was not in the set"
    if len(then.shape) != len(now.shape):
        return "dropped", f"had {counted(len(then.shape), 'dimension')}, and has {len(now.shape)}"
    ends = then.ends and now.ends and (*then.ends, *now.ends)
    shapes = f"had the shape {then.shape}, and has {now.shape}"
    listed = f"had {counted(then.listed, 'chunk')} with references, and has {now.listed:,}"
    if any(a > b for a, b in zip(then.shape, now.shape, strict=True)):
        return "dropped", shapes
    if now.listed < then.listed:
        return "dropped", listed
    if ends and ends[0] != ends[2]:
        return "dropped", f"began at {ends[0]}, and begins at {ends[2]}"
    if then.shape != now.shape:
        return "added", f"{shapes}; it ends at {ends[3]}" if ends else shapes
    if ends and ends[1] != ends[3]:
        return "dropped", f"ended at {ends[1]}, and ends at {ends[3]}"
    return ("added", listed) if now.listed > then.listed else None
