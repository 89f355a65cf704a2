"""The opened set: a table of explicit references, and segments that overlay it.

`Contents` is its form for other processes, `Internals` has its indexes.
"""

from __future__ import annotations

import math
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4
from weakref import WeakSet, WeakValueDictionary

from refexplorer.core.errors import InternalError, LimitError, MissingError
from refexplorer.core.files import Progress
from refexplorer.formats.columns.references import Columns
from refexplorer.formats.columns.table import Entries, Table, build_table
from refexplorer.refset.arrays import ArrayIndex
from refexplorer.refset.generated import Generated, OverrideLimits, apply_overrides
from refexplorer.refset.numbered_segment import Records
from refexplorer.refset.segments import (
    NONE_REJECTED,
    Rejected,
    Segment,
    rejected_of,
    table_of_entries,
    warn_of_failing,
)
from refexplorer.refset.tree import Node, Page, Tree
from refexplorer.spec.document import Document, Forms
from refexplorer.spec.findings import Finding, Findings
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.references import Reference, V0Value
from refexplorer.spec.templates.template import Template

if TYPE_CHECKING:
    from refexplorer.core.limits import Limits
    from refexplorer.formats.parquet.store import ParquetStore
    from refexplorer.formats.source import Source
    from refexplorer.refset.summary import ArrayStates, Summary
    from refexplorer.refset.targets import TargetIndex
    from refexplorer.spec.zarr_metadata import ArrayMeta

_watching: ContextVar[Progress | None] = ContextVar("watching", default=None)
"""Called with the parts that a query has read, and their total; an exception stops the query."""


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Watch queries of this thread that read every reference."""
    token = _watching.set(progress)
    try:
        yield
    finally:
        _watching.reset(token)


_KEPT = 20_000_000
"""References of a set that are kept once they were read; of a larger one those of one array."""


class OpenedSet:
    """The columns and arithmetic behind a reference set; keys are numbered over all segments."""

    def __init__(
        self, table: Table, segments: Sequence[Segment] = (), rejected: Rejected | None = None
    ) -> None:
        self.table = table
        self.segments: tuple[Segment, ...] = tuple(segments)
        self.rejected = rejected or NONE_REJECTED

    def __getstate__(self) -> dict[str, Any]:
        return {"table": self.table, "segments": self.segments, "rejected": self.rejected}

    @cached_property
    def tree(self) -> Tree:
        """The keys as folders."""
        return Tree(self.table, self.segments)

    @cached_property
    def arrays(self) -> ArrayIndex:
        """The arrays, by their metadata."""
        return ArrayIndex(self.tree)

    @property
    def parts(self) -> tuple[Segment, ...]:
        """The table and the segments, in order."""
        return (self.table, *self.segments)

    @property
    def count(self) -> int:
        """The number of keys."""
        return sum(part.count for part in self.parts)

    @property
    def bound(self) -> int:
        """An upper bound of `count`, known without reading anything."""
        return sum(part.bound for part in self.parts)

    @property
    def stored(self) -> int:
        """The maximum number of references stored one by one, known without reading anything."""
        return sum(part.bound for part in self.parts if not isinstance(part, Generated))

    def columns(self) -> Iterator[tuple[Segment, Columns]]:
        """Yield the segments that store their references in columns; record files are read."""
        yield self.table, self.table.columns
        is_kept, progress = self.stored <= _KEPT, _watching.get() or (lambda done, of: None)
        read, of = 0, sum(len(part.parts) for part in self.segments if isinstance(part, Records))
        for part in self.segments:
            if isinstance(part, Records):
                fresh = [] if is_kept else [each for each in part.parts if not each.is_read]
                try:
                    for each in part.parts:
                        progress(read, of)
                        each.columns  # noqa: B018  reading is what takes long
                        read += 1
                    columns = part.columns
                finally:
                    for each in fresh:
                        each.release()
                yield part, columns
                del columns

    def note_strays(self) -> None:
        """Report the files of parquet stores that belong to no array."""
        from refexplorer.refset.parquet_segment import ParquetRecords

        parts = (part for part in self.segments if isinstance(part, ParquetRecords))
        for store in {id(part.store): part.store for part in parts}.values():
            store.note_strays()

    def find(self, key: str) -> tuple[Segment, int] | None:
        """Return the segment that contains a key and its number there, or None."""
        for part in self.parts:
            if key.startswith(part.folder):
                row = part.find(key)
                if row is not None:
                    return part, row
        return None

    def holds(self, key: str) -> bool:
        """Return whether a key exists, including one whose template fails."""
        return any(key.startswith(part.folder) and part.holds(key) for part in self.parts)

    def lookup(self, key: str) -> tuple[Segment, Reference] | None:
        """Return a key's segment and reference; None without one, or if its template fails."""
        for part in self.parts:
            if key.startswith(part.folder):
                reference = part.get(key)
                if reference is not None:
                    return part, reference
        return None

    def missing(self, key: str) -> KeyError:
        """Return the error for a missing key; it says why if the source has it."""
        error = self._error_of(key)
        if error is None and self.arrays.get(key) is not None:
            return MissingError(
                key,
                f"{key!r} is an array, and references are those of its chunks: "
                f"refs.read({key!r}) reads values, refs.array({key!r}) is its metadata, "
                f"refs.chunk_grid({key!r}) has the references.",
            )
        return KeyError(key if error is None else f"{key}: {error.message}")

    def rejection(self, key: str) -> Finding | None:
        """Return why a key of the source cannot be used; None if it can, or does not exist."""
        return self._error_of(key) if self.lookup(key) is None else None

    def _error_of(self, key: str) -> Finding | None:
        """Return the error for a key known to be missing."""
        parts = (part for part in self.segments if isinstance(part, Generated | Records))
        errors = (part.rejection(key) for part in parts if key.startswith(part.folder))
        return next(filter(None, errors), None) or self.rejected.find(key)

    def iterate(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[str, Reference]]:
        """Yield keys and references in order; failing generated ones are skipped."""
        for part, low, high in self.intervals(start, stop):
            yield from part.iterate(low, high)

    def intervals(
        self, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[Segment, int, int]]:
        """Yield the segments with the keys numbered `start` to `stop`, and the rows there."""
        before = 0
        for part in self.parts:
            low = max(start - before, 0)
            high = part.count if stop is None else min(stop - before, part.count)
            if low < high:
                yield part, low, high
            before += part.count

    def v0(self) -> Iterator[tuple[str, V0Value]]:
        """Yield keys and their values in a V0 document; the last of duplicate keys wins."""
        for part in self.parts:
            if isinstance(part, Generated):
                made = 0
                for run in part.runs():
                    made += len(run)
                    yield from run.v0()
                warn_of_failing(part, part.count - made)
            else:
                for key, reference in part.iterate():
                    yield key, reference.to_v0()

    def page(self, path: str, start: int, stop: int | None) -> Page:
        """Return some children of a folder."""
        level = self.tree.level(path)
        if level is None:
            if self.find(path) is None:
                raise KeyError(path)
            return Page((), 0, start)
        stop = level.total if stop is None else min(stop, level.total)
        return Page(level.page(start, stop), level.total, start)

    def node(self, path: str) -> Node:
        """Return the tree row of a path."""
        found = self.lookup(path)
        reference = None if found is None else found[1]
        origin = None if found is None else found[0].origin
        node = self.tree.node(path, reference, origin)
        if node is None:
            raise KeyError(path)
        return node

    def position(self, path: str) -> int:
        """Return the position of a path among its siblings, from 0."""
        if (found := self.tree.locate(path)) is None:
            raise KeyError(path)
        return found[1]

    def parent(self, path: str) -> str:
        """Return the folder under which the tree shows a path."""
        found = self.tree.locate(path)
        return "" if found is None else found[0]


def open_document(
    document: Document, entries: Entries | None = None, effort: OverrideLimits | None = None
) -> OpenedSet:
    """Open a document; add findings that appear only in the whole set."""
    if entries is None:
        table = build_table(document.entries())
        rejected = NONE_REJECTED
        if document.rejected:
            rejected = rejected_of(document.base, document.rejected)
    else:
        table, rejected = table_of_entries(entries, document)
    if document.rejected_items:
        rejected = replace(rejected, items=document.rejected_items)
    table, segments = apply_overrides(
        table, [Generated(i, i.failing) for i in document.gen], document.findings, effort
    )
    return OpenedSet(table, [segment for segment in segments if segment.count], rejected)


def open_store(store: ParquetStore) -> OpenedSet:
    """Open a parquet store: its metadata as a table, each array as a segment."""
    from refexplorer.refset.parquet_segment import ParquetRecords

    table = build_table(store.metadata.items(), "parquet")
    return OpenedSet(table, [ParquetRecords(store, array) for array in store.arrays])


def number_of(opened: OpenedSet, key: str) -> int:
    """Return the number of a key."""
    found = opened.find(key)
    if found is None:
        raise KeyError(key)
    segment, row = found
    return _first(opened, segment) + row


def numbers_from(opened: OpenedSet, origin: str) -> range:
    """Return the numbers of the keys from one origin, such as ``gen[0]``; empty if none."""
    for part in opened.parts:
        if part.origin == origin:
            first = _first(opened, part)
            return range(first, first + part.count)
    return range(0)


def _first(opened: OpenedSet, segment: Segment) -> int:
    return sum(part.count for part in takewhile(lambda part: part is not segment, opened.parts))


_SAMPLED = 64  # Keys of a segment that are looked up; all of a table are compared by their hashes
_trusted: WeakSet[OpenedSet] = WeakSet()


def require_lookup(opened: OpenedSet) -> None:
    """Do the same as `check_lookup`, once per set in a process."""
    if opened not in _trusted:
        check_lookup(opened)
        _trusted.add(opened)


def check_lookup(opened: OpenedSet) -> None:
    """Compare look-up with the listed keys; record files that were not read stay unread."""
    if not opened.table.index.is_sound:
        raise _broken(f"the index of its {opened.table.count:,} explicit keys")
    for part in opened.parts:
        for key in _sample(part):
            with suppress(
                LimitError
            ):  # which is raised for everyone, so nothing passes for missing
                row = part.find(key)
                if row is None or part.key_at(row) != key:
                    raise _broken(f"{key!r}, a key of {part.origin}")


def _broken(what: str) -> InternalError:
    return InternalError(
        f"refexplorer cannot look up keys that the set has ({what}), so chunks would wrongly "
        "read as fill values. This is a bug: please report it, and open the set again."
    )


def _sample(part: Segment) -> Iterator[str]:
    """Yield keys with a reference, sampled from the whole segment."""
    if isinstance(part, Records) and not part.is_read:
        return
    step = max(part.count // _SAMPLED, 1)
    for row in range(0, part.count, step):
        if part.reference_at(row) is not None:
            yield part.key_at(row)


@dataclass(frozen=True, eq=False)
class Contents:
    """The columns of a set, its findings, its templates and what its columns have lost."""

    # Dask sends a set with each task of some schedulers. The pickle therefore contains the contents
    # as bytes with a name, and a process that knows the name does not read the bytes: it already
    # has the tree and the index of the set.

    opened: OpenedSet
    findings: Findings
    templates: Mapping[str, Template] = field(default_factory=dict)
    # Of these contents, the same in each process
    name: str = field(default_factory=lambda: uuid4().hex)
    forms: Forms = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.opened, self.findings, dict(self.templates), self.forms)
        written = pickle.dumps(parts, protocol=5)
        return _contents_again, (self.name, written)


_met: WeakValueDictionary[str, Contents] = WeakValueDictionary()
_kept: deque[Contents] = deque(maxlen=2)
"""The latest ones, which would otherwise be freed between two tasks."""


def _contents_again(name: str, written: bytes) -> Contents:
    found = _met.get(name)
    if found is None:
        opened, findings, templates, forms = pickle.loads(written)
        found = Contents(opened, findings, templates, name, forms)
        check_lookup(opened)
        _met[name] = found
    if found not in _kept:
        _kept.append(found)
    return found


class Internals:
    """The contents of a set, and the indexes over them, which are built on demand."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.opened, self.findings = contents.opened, contents.findings
        self._page: tuple[tuple[int, int], list[tuple[str, Reference, str]]] | None = None
        self._summaries: dict[str, Summary] = {}

    def counts(
        self, path: str = "", within: float = math.inf, progress: Progress | None = None
    ) -> Summary:
        """Count what is below a path; counts that would take more than seconds are omitted."""
        from refexplorer.refset.summary import outline, seconds, summarize

        if path not in self._summaries:
            if seconds(self.opened, path) > within:
                return outline(self.opened, path)
            urls: dict[str | None, int] = {}
            self._summaries[path] = summarize(self.opened, path, progress, urls)
            if path == "" and len(urls) == self._summaries[path].targets:
                vars(self).setdefault("file_numbers", urls)
        return self._summaries[path]

    def number_files(self, array: str, urls: Sequence[str | None]) -> None:
        """Find `file_numbers`, with the targets of an array that was read."""
        from refexplorer.refset.summary import file_numbers

        if "file_numbers" not in vars(self):
            self.file_numbers = file_numbers(self.opened, _watching.get(), {array: urls})

    @property
    def generated(self) -> tuple[GenItem, ...]:
        """The gen items that generate keys, in document order."""
        parts = self.opened.segments
        return tuple(part.item for part in parts if isinstance(part, Generated))

    @cached_property
    def array_states(self) -> ArrayStates:
        """The chunks of each array by state."""
        from refexplorer.refset.summary import array_states

        return array_states(self.opened)

    @property
    def is_counted(self) -> bool:
        """Whether the chunks were counted, so that `array_states` is immediate."""
        return "array_states" in vars(self)

    @cached_property
    def target_index(self) -> TargetIndex:
        """All references by target; for very large gen items only the first ones."""
        from refexplorer.refset.targets import TargetIndex

        return TargetIndex(self.opened, progress=_watching.get())

    @cached_property
    def file_numbers(self) -> Mapping[str | None, int]:
        """The numbers that the colours of files go by; of very large gen items some are missing."""
        from refexplorer.refset.summary import file_numbers

        return file_numbers(self.opened, _watching.get())

    @cached_property
    def example_urls(self) -> tuple[str | None, ...]:
        """One target for each protocol, host and kind of path; None for unnamed ones."""
        from refexplorer.refset.targets import example_urls

        return example_urls(self.opened)

    def entries_at(self, start: int, stop: int) -> list[tuple[str, Reference, str]]:
        """Return the keys numbered `start` to `stop`, each with its reference and origin."""
        if self._page is None or self._page[0] != (start, stop):
            found = [
                (key, reference, part.origin)
                for part, low, high in self.opened.intervals(start, stop)
                for key, reference in part.iterate(low, high)
            ]
            self._page = (start, stop), found  # the editor compares a page with the one after it
        return self._page[1]


class SetLike(Protocol):
    """The interface of an opened set that lower layers use; `ReferenceSet` implements it."""

    @property
    def _internals(self) -> Internals: ...
    @property
    def source(self) -> Source: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def diagnostics(self) -> tuple[Finding, ...]: ...
    def __getitem__(self, key: str, /) -> Reference: ...
    def get(self, key: str, /) -> Reference | None: ...
    def rejection(self, key: str) -> Finding | None: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, key: object, /) -> bool: ...
    def children(self, path: str = "", start: int = 0, stop: int | None = None) -> Page: ...
    def summary(self, path: str = "") -> Summary: ...
    def arrays(self) -> tuple[str, ...]: ...
    def array_of(self, key: str) -> tuple[str, tuple[int, ...]] | None: ...
    def array(self, path: str) -> ArrayMeta: ...


internals: Callable[[SetLike], Internals] = attrgetter("_internals")
"""The internals of a set, which its public API does not show."""
