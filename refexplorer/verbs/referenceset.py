"""The public `ReferenceSet`, created by `refexplorer.verbs.opening`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import LeftOutWarning, MissingError, RefexplorerError, warn
from refexplorer.core.files import write_blocks
from refexplorer.core.limits import Limits, check_expandable
from refexplorer.core.text import counted
from refexplorer.formats.documents import locator_of
from refexplorer.formats.source import RECORD_SIZE, ZMETADATA, Source
from refexplorer.refset.opened_set import (
    Contents,
    Internals,
    OpenedSet,
    number_of,
    numbers_from,
)
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Finding, Locator, placed
from refexplorer.spec.references import Kind, NodeType, Reference, V0Value
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.verbs.display import known_diagnostics, references_html, summary_text, tree_text
from refexplorer.verbs.set_checks import SetChecks

if TYPE_CHECKING:
    import xarray
    import zarr

    from refexplorer.core.files import Progress
    from refexplorer.hosts.notebook.widgets import Explorer
    from refexplorer.io.reading.code import CodeContext
    from refexplorer.io.reading.filesystem import ReferenceFileSystem
    from refexplorer.io.reading.readings import Reading
    from refexplorer.io.reading.trace import Trace
    from refexplorer.readers.verdicts import Dialects
    from refexplorer.refset.chunk_grid import ChunkReferences
    from refexplorer.refset.summary import Summary
    from refexplorer.refset.target_layout import TargetLayout, TargetSummary
    from refexplorer.refset.tree import Node, Page
    from refexplorer.verbs.converting import Conversion
    from refexplorer.verbs.differing import Difference
    from refexplorer.verbs.inferring import Inference
    from refexplorer.verbs.repair.repairing import Repair

_COMPARED, _SIMILAR = 1000, 3  # Arrays that a name is compared with, and names that a message lists


class SetEntries(Mapping[str, Reference]):
    """The keys of a set, as a mapping, as a tree, by array and by target."""

    source: Source
    limits: Limits
    templates: dict[str, Any]
    _internals: Internals
    _opened: OpenedSet

    def __getitem__(self, key: str) -> Reference:
        if not isinstance(key, str):
            raise KeyError(key)
        entry = self._opened.lookup(key)
        if entry is None:
            raise self._opened.missing(key)
        return entry[1]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._opened.holds(key)

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self._opened.iterate())

    def __len__(self) -> int:
        return self.count

    @property
    def count(self) -> int:
        """Number of keys; exact even if `len` would overflow."""
        return self._opened.count

    @cached_property
    def diagnostics(self) -> tuple[Finding, ...]:
        """The diagnostics, errors first; computed on first access."""
        from refexplorer.checks.set_lint import diagnose

        return diagnose(self.source, self._internals, self.limits, self._base)

    @property
    def error_count(self) -> int:
        """Number of errors found when the set was opened; `diagnostics` also finds warnings."""
        found = self._internals.findings
        errors = (each.count for each in found if each.severity is Severity.ERROR)
        return sum(errors) + len(self.source.left_out)

    def rejection(self, key: str) -> Finding | None:
        """Return the error that rejected a key of the source.

        None if it is in the set, or the source has no such key. For a large document only the
        pointer gives the position.
        """
        error = self._opened.rejection(key)
        is_short = not self.source.is_large
        return placed(error, self._locate) if error and is_short and self._locate else error

    def keys_at(self, start: int, stop: int) -> list[str]:
        """Return the keys numbered `start` to `stop`, in the order of the set."""
        return [key for key, _ in self._opened.iterate(start, stop)]

    def number(self, key: str) -> int:
        """Return the number of a key, from 0, in the order of the set."""
        return number_of(self._opened, key)

    def numbers(self, origin: str) -> range:
        """Return the numbers of all keys from one origin, such as ``"gen[0]"``."""
        return numbers_from(self._opened, origin)

    def children(self, path: str = "", start: int = 0, stop: int | None = None) -> Page:
        """Return one page of one tree level; ``""`` is the root."""
        return self._opened.page(path, start, stop)

    def node(self, path: str) -> Node:
        """Return the tree row of a path."""
        return self._opened.node(path)

    def position(self, path: str) -> int:
        """Return the position of a path among its siblings, from 0."""
        return self._opened.position(path)

    def parent(self, path: str) -> str:
        """Return the folder under which the tree shows a path."""
        return self._opened.parent(path)

    def find(
        self,
        pattern: str,
        *,
        mode: str = "glob",
        kind: Kind | str | Iterable[Kind | str] | None = None,
        targets: bool = False,
    ) -> Iterator[str]:
        """Yield the matching keys, lazily, in the order of the set.

        Parameters
        ----------
        pattern
            Pattern to search for; ``*`` in a glob also matches slashes.
        mode
            ``"glob"``, ``"regex"`` or ``"substring"``.
        kind
            One kind or several; None means all.
        targets
            Also yield the keys whose target matches, after the others; generated keys are not
            searched for this.

        Raises
        ------
        RefexplorerError
            If the mode or kind is unknown, the pattern contains a lone surrogate, or the regular
            expression is invalid or not supported by RE2, which has no look-around and no back
            references.
        LimitError
            After all results, if a gen item generates more keys than can be searched.
        """
        from refexplorer.refset.search import find_steps

        steps = find_steps(self._internals.opened, pattern, mode, _kinds(kind), targets)
        return (key for step in steps for key in step.keys)

    def summary(self, path: str = "") -> Summary:
        """Count kinds, bytes, targets and missing chunks below a path; ``""`` is the whole set."""
        return self._internals.counts(path)

    def arrays(self) -> tuple[str, ...]:
        """Return the paths of all arrays with readable metadata."""
        return self._opened.arrays.paths

    def array(self, path: str) -> ArrayMeta:
        """Return the metadata of the array at a path."""
        array = self._opened.arrays.get(path)
        if array is None:
            raise MissingError(path, f"{self.source.name} has no array {path!r}{self._near(path)}.")
        return array

    def check_path(self, path: str) -> None:
        """Raise an error if nothing is at a path: no key, folder, array or rejected key.

        Raises
        ------
        MissingError
            With similar names.
        """
        if path and self.rejection(path) is None:
            try:
                self.node(path)
            except KeyError:
                sentence = f"{self.source.name} has nothing at {path!r}{self._near(path)}."
                raise MissingError(path, sentence) from None

    def _near(self, path: str) -> str:
        """Return what is at a path in place of an array, or similar names."""
        if path in self:
            owner = self.array_of(path)
            return f"; that is a key{'' if owner is None else f' of the array {owner[0]!r}'}"
        with suppress(KeyError):
            if self.node(path).type is NodeType.ARRAY:
                return ": its metadata cannot be used (check() says why)"
        near = get_close_matches(path, self.arrays()[:_COMPARED], _SIMILAR)
        return f"; similar: {', '.join(map(repr, near))}" if near else ""

    def array_of(self, key: str) -> tuple[str, tuple[int, ...]] | None:
        """Return the path of the array and the chunk index of a key."""
        owner = self._opened.arrays.of_key(key)
        return None if owner is None else (owner[0].path, owner[1])

    def chunk_grid(self, path: str) -> ChunkReferences:
        """Return the references of the array at a path, on its chunk grid."""
        from refexplorer.refset.chunk_grid import ChunkReferences

        return ChunkReferences(self._opened, self.array(path))

    def targets(self, start: int = 0, stop: int | None = None) -> list[TargetSummary]:
        """Return the targets numbered `start` to `stop`, in the order of the set."""
        targets = self._internals.target_index.targets(start, stop)
        if (facts := self.source.repository) is None:
            return targets
        return [replace(each, kind=facts.kind_of(each.url or "")) for each in targets]

    def layout(self, url: str | None) -> TargetLayout:
        """Return which byte ranges of a target are referenced, and by which keys."""
        return self._internals.target_index.layout(url)

    def origin(self, key: str) -> str:
        """Return the origin of a key: ``"refs"``, ``"gen[0]"`` or ``"parquet"``."""
        entry = self._opened.lookup(key)
        if entry is None:
            raise KeyError(key)
        return entry[0].origin

    def explain(self, key: str) -> Trace:
        """Trace a key from its entry, gen item or record through each template to the reference.

        Its target is not read; `trace` continues to the values.
        """
        from refexplorer.io.reading.trace import Trace
        from refexplorer.refset.summary import derive

        steps = derive(self._opened, key, self.source, self._base, self.templates, self.limits)
        return Trace(key, tuple(steps), self.origin(key), self[key])

    @cached_property
    def _locate(self) -> Locator | None:
        """A function that locates a pointer in the text, scanning no part of it twice."""
        return locator_of(self.source)

    @property
    def _base(self) -> str:
        """The pointer prefix of an explicit key."""
        return ZMETADATA if self.source.form == "parquet" else self.source.key_base

    __eq__ = object.__eq__  # comparing every key would never end for a large gen
    __hash__ = object.__hash__


PAGE_KEYS = 10_000  # Rows of the tree that a saved page has


class ReferenceSet(SetChecks, SetEntries):
    """An opened reference set: a mapping from keys to references, which can be checked and read.

    Returned by `refexplorer.open_references`. Targets are read by `read`, `chunk`, `trace`, `audit`
    and `verify`, and by the objects that `filesystem`, `to_zarr`, `to_xarray` and `to_datatree`
    return; `check_targets` requests only their sizes. No other method reads a target. Targets
    outside the folder of the reference file must be allowed by name:
    ``refs.allowing("s3://bucket").read("sst")``. A key, path or array that the set does not have
    raises `KeyError`.

    Attributes
    ----------
    source
        The origin of the set; ``source.form`` is ``"V0"``, ``"V1"``, ``"parquet"``, ``"Icechunk"``,
        ``"VirtualiZarr"`` or the name of a format registered by another package.
    limits
        Its resource limits.
    templates
        The compiled templates of V1, by name.
    allowed
        Locations that may be read, in addition to the folder of the reference file.
    storage_options
        Options for fsspec, for the targets.
    audited
        The report of the last `audit`, or None; displayed in the maps of the set.
    verified
        The report of the last `verify`, or None; the explorer shows it by array.
    """

    def __init__(
        self,
        source: Source,
        contents: Contents,
        limits: Limits,
        storage_options: Mapping[str, Any] | None = None,
        allowed: Sequence[str] = (),
    ) -> None:
        self.source = source
        self.limits = limits
        self.templates = dict(contents.templates)
        self.storage_options = dict(storage_options or {})
        self.allowed = tuple(allowed)
        self._results = {}
        self._internals = Internals(contents)
        self._opened = contents.opened

    def __reduce__(self) -> tuple[Any, ...]:
        options = (self.limits, self.storage_options, self.allowed)
        return _rebuild, (self.source.portable(), self._internals.contents, *options)

    def __repr__(self) -> str:
        keys = counted(self.count, "key")
        return f"<ReferenceSet {self.source.name!r}, {self.source.form}, {keys}>"

    def __str__(self) -> str:
        return f"{summary_text(self)}\n{tree_text(self, levels=1)}"

    def _repr_html_(self) -> str:
        return references_html(self, known_diagnostics(self))

    def allowing(
        self, *places: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
    ) -> ReferenceSet:
        """Return the same opened set with further locations from which targets may be read.

        Nothing is opened again, and both have the same `audited` and `verified`.

        Parameters
        ----------
        places
            Buckets (``"s3://bucket"``), hosts (``"https://host"``) and folders (``"/data"``), in
            addition to those that are allowed already.
        storage_options
            Options for fsspec by protocol or location (``{"s3": {…}, "s3://bucket": {…}}``),
            instead of those of the set.

        Raises
        ------
        AccessError
            If a name is not valid, or is of no existing local file or folder.
        FetchError
            If the package that reads a bucket is not installed.
        """
        from refexplorer.io.access import AccessPolicy, require_existing
        from refexplorer.io.fetch.failures import require_packages

        refs = object.__new__(type(self))
        vars(refs).update(vars(self))
        for name in ("_known", "_targets"):  # which hold what is given here
            vars(refs).pop(name, None)
        names = AccessPolicy(None, require_existing(places)).names
        require_packages(names)
        refs.allowed = tuple(dict.fromkeys((*self.allowed, *names)))
        if storage_options is not None:
            refs.storage_options = dict(storage_options)
        return refs

    def to_v0(self) -> dict[str, V0Value]:
        """Return the set as V0: text, ``[url]`` or ``[url, offset, length]`` for each key.

        Raises
        ------
        LimitError
            If there are more than `Limits.expanded_keys` keys.
        """
        check_expandable(self.count, self.limits)
        return dict(self._opened.v0())

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the set as V0 JSON; an existing file is replaced when writing is complete.

        The file is compressed if its name ends in ``.gz`` or ``.zst``.

        Raises
        ------
        RefexplorerError
            If the file cannot be written, or a key cannot be in V0.
        """
        from refexplorer.refset.segments import tables
        from refexplorer.refset.writing.json import v0_blocks

        check_expandable(self.count, self.limits)
        write_blocks(Path(path), v0_blocks(tables(self._opened.parts)))

    def to_parquet(self, path: str | os.PathLike[str], *, record_size: int = RECORD_SIZE) -> None:
        """Write the set as a parquet store.

        fsspec reads the same references, but finds no chunks of Zarr v3 arrays, of an array at the
        root, or of arrays with slashes between chunk indices; refexplorer does.

        Parameters
        ----------
        path
            The folder to create; it must not exist. It is created when writing is complete.
        record_size
            Rows per record file.

        Raises
        ------
        RefexplorerError
            If the folder exists, or a parquet store cannot contain a key of the set.

        Warns
        -----
        LeftOutWarning
            If the set has references of such an array, or consolidated metadata, which a store has
            anyway.
        """
        from refexplorer.refset.arrays import arrays_of
        from refexplorer.refset.segments import tables
        from refexplorer.refset.writing.json import empty_as_text
        from refexplorer.refset.writing.parquet import write_parquet

        check_expandable(self.count, self.limits)
        blocks = map(empty_as_text, tables(self._opened.parts))
        write_parquet(blocks, arrays_of(self._opened.table), Path(path), record_size)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        read: Collection[str] = (),
        check_targets: bool = False,
        keys: int = PAGE_KEYS,
    ) -> None:
        """Write the explorer of this set as one HTML file that needs no kernel and no network.

        It shows the tree, the details and the code of each key, the notes, the maps of chunks and
        of targets, inline values and those of arrays in `read` (any part of them, side by side, and
        on the map of the earth), and the results of the last `audit` and `verify`.
        Parts that are not in the file are marked as such. The file names no folder of this machine,
        unless the set or `allowing` does.

        Parameters
        ----------
        path
            The file; an existing file is replaced when writing is complete.
        read
            Paths of arrays; for each, the part that the explorer shows first is read and included,
            with latitude and longitude.
        check_targets
            Whether to request the size of each target first.
        keys
            The number of tree rows to write. In a larger set, only the first rows of each group and
            array are written, and the page says so; counts, notes and maps cover the whole set.

        Raises
        ------
        RefexplorerError
            If the file cannot be written.
        """
        from refexplorer.hosts.saved_page import save_page

        save_page(self, path, read=read, check_targets=check_targets, keys=keys)

    def filesystem(self) -> ReferenceFileSystem:
        """Return an fsspec file system of the keys; see `refexplorer.io.reading.filesystem`."""
        from refexplorer.io.reading.filesystem import ReferenceFileSystem

        self._warn_of_errors()
        return ReferenceFileSystem(self, self._targets)

    def to_zarr(self) -> zarr.Group | zarr.Array[Any]:
        """Return a read-only zarr group or array; only metadata are read now.

        The chunks of a selection are read together, in few requests. If ``zarr.config`` sets a
        different ``codec_pipeline.path`` from Zarr's default, that pipeline reads chunk by chunk.
        """
        from refexplorer.io.reading.datasets import to_zarr

        self._warn_of_errors()
        return to_zarr(self, self._targets)

    def to_xarray(
        self, *, group: str = "", coordinates: bool | None = None, **keywords: Any
    ) -> xarray.Dataset:
        """Return a group as a dataset; only coordinates are read now.

        Parameters
        ----------
        group
            The path of the group; ``""`` is the root.
        coordinates
            Whether to read the dimension coordinates, which `sel` and decoded times need. By
            default they are read, as xarray does, if all of them are inline or in allowed
            locations; if not, a warning says what to allow.
        keywords
            For `xarray.open_dataset`; ``chunks={}`` makes dask arrays.

        Raises
        ------
        DecodeError
            If there is no such group, or an array has no dimension names.
        AccessError
            If coordinates would be read from locations that are not allowed yet.

        Warns
        -----
        LeftOutWarning
            If coordinates were not read.
        """
        from refexplorer.io.reading.datasets import to_xarray

        self._warn_of_errors()
        return to_xarray(self, self._targets, group=group, coordinates=coordinates, **keywords)

    def to_datatree(self, *, coordinates: bool | None = None, **keywords: Any) -> xarray.DataTree:
        """Return all groups as a tree of datasets; see `to_xarray`."""
        from refexplorer.io.reading.datasets import to_datatree

        self._warn_of_errors()
        return to_datatree(self, self._targets, coordinates=coordinates, **keywords)

    def chunk(self, array: str, index: Sequence[int]) -> Reading:
        """Read one chunk: its values, and whether they were fetched, are the fill value, or failed.

        Parameters
        ----------
        array
            The path of the array.
        index
            Index of the chunk in the chunk grid.

        Raises
        ------
        DecodeError
            If the grid has no such chunk.
        AccessError
            If its target is not allowed yet.
        """
        from refexplorer.io.reading.chunks import read_chunk

        return read_chunk(self, array, tuple(index), self._targets)

    def trace(
        self,
        path: str,
        index: Sequence[int] | None = None,
        *,
        inner: Sequence[int] | EllipsisType | None = None,
    ) -> Trace:
        """Trace a key, or one value of an array, from its reference to the values.

        Parameters
        ----------
        path
            A key: its chunk is read and decoded step by step. With `index`, the path of an
            array.
        index
            The position of a value, an integer for each dimension; negative ones count from the
            end. The trace ends with what xarray shows and why.
        inner
            The index of an inner chunk in the grid of the shard at `path`. ``...`` reads only
            the index of the shard, as `Trace.shard`.

        Returns
        -------
        Trace
            ``steps``, ``state``, ``message`` (why it fails), ``values``; `print` shows them.

        Raises
        ------
        DecodeError
            If the array has no such element, the key is not a shard, or it has no such inner chunk.
        AccessError
            If its target is not allowed yet.
        """
        from refexplorer.io.reading.trace import trace_key

        if index is not None and inner is not None:
            raise RefexplorerError(
                "Give the index of a value or an inner chunk of a shard, not both."
            )
        if index is not None:
            trace = self.why(path, index)
        else:
            trace = trace_key(self, path, self._targets, inner)
        return trace if trace.reference is None else trace.after(self.explain(trace.key))

    def why(self, array: str, index: Sequence[int] | int) -> Trace:
        """Trace one value like `trace`; `Trace.cause` explains it."""
        from refexplorer.io.reading.trace_value import trace_value

        return trace_value(self, array, index, self._targets)

    def code(self, key: str | None = None) -> str:
        """Return Python code that opens the set, a group, an array or a key with fsspec only.

        Parameters
        ----------
        key
            A key, or the path of an array or a group; None is the whole set.
        """
        from refexplorer.io.reading.code import code

        return code(self, key, self._code_context, self.allowed)

    def explore(self, **options: Any) -> Explorer:
        """Show the set; options are those of `refexplorer.explore`, such as ``part="chunks"``."""
        from refexplorer.hosts.notebook.widgets import explore

        return explore(self, **options)

    def diff(self, other: object, *, read: bool = False, allow: Collection[str] = ()) -> Difference:
        """Compare this set (the earlier one) with another one; see `refexplorer.diff`."""
        from refexplorer.verbs.differing import diff

        return diff(self, other, read=read, allow=(*self.allowed, *allow))

    def convert(
        self, output: str | os.PathLike[str], how: Conversion | None = None, **options: Any
    ) -> int:
        """Write the set in another format or with other targets; see `refexplorer.convert`.

        Parameters
        ----------
        output
            The file, or the folder of a store.
        how
            The conversion options; or pass its fields as `options`, such as ``inline=100``.
        options
            Fields of `refexplorer.Conversion`.
        """
        from refexplorer.verbs.converting import Conversion, convert

        names = [each.name for each in fields(Conversion)]
        if unknown := options.keys() - names:
            raise TypeError(
                f"convert() has no option {sorted(unknown)[0]!r}; it has {', '.join(names)}."
            )
        given = replace(how or Conversion(), **options)
        return convert(self, output, replace(given, allow=(*self.allowed, *given.allow)))

    def repair(self, output: str | os.PathLike[str] | None = None, **options: Any) -> Repair:
        """Repair the set using the metadata of its files; for options see `refexplorer.repair`."""
        from refexplorer.verbs.repair.repairing import repair

        return repair(self, output, **options)

    def infer(self, *, progress: Progress | None = None) -> Inference:
        """Find the smallest V1 of the set; see `refexplorer.infer`."""
        from refexplorer.verbs.inferring import infer

        return infer(self, progress=progress)

    def dialects(self, *, readers: Collection[str] | None = None) -> Dialects:
        """Compare how readers read the set; see `refexplorer.dialects`."""
        from refexplorer.readers.comparing import dialects_of
        from refexplorer.verbs.inferring import given_templates

        contents, given = self._internals.contents, given_templates(self)
        return dialects_of(self.source, contents, given, self.limits, readers)

    @cached_property
    def _code_context(self) -> CodeContext:
        from refexplorer.io.reading.code import CodeContext
        from refexplorer.readers.comparing import fsspec_options

        rendering = fsspec_options(self.source, self._internals.contents)
        return CodeContext(self._internals.example_urls, self.storage_options, rendering)

    def _warn_of_errors(self) -> None:
        """Warn of rejected keys; if even their names are unknown, they read as fill values."""
        if errors := self.error_count - len(self.source.left_out):
            warn(
                f"{self.source.name} has {counted(errors, 'error')}. Reading a rejected chunk "
                "fails, or gives the fill value if its key is unknown. See `diagnostics`.",
                LeftOutWarning,
            )


def _rebuild(source: Source, *arguments: Any) -> ReferenceSet:
    """Rebuild a set received from another process."""
    return ReferenceSet(source.without_local_file(), *arguments)


def _kinds(kind: Kind | str | Iterable[Kind | str] | None) -> tuple[Kind, ...]:
    kinds = (kind,) if isinstance(kind, str) else tuple(kind or ())
    for unknown in set(kinds).difference(Kind):
        raise RefexplorerError(
            f"{unknown!r} is not a kind of reference; use one of {', '.join(Kind)}."
        )
    return tuple(map(Kind, kinds))
