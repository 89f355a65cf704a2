"""The `ReferenceSet` that people hold; `refexplorer.verbs.opening` makes it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import LeftOutWarning, RefexplorerError, SourceError
from refexplorer.core.files import write_blocks
from refexplorer.core.limits import Limits, check_expandable
from refexplorer.core.text import counted
from refexplorer.formats.documents import locator_of
from refexplorer.formats.parquet.store import RECORD_SIZE
from refexplorer.formats.source import ZMETADATA, Source
from refexplorer.refset.arrays import arrays_of
from refexplorer.refset.chunk_grid import ChunkReferences
from refexplorer.refset.opened_set import Contents, Internals, number_of, numbers_from
from refexplorer.refset.overriding import tables
from refexplorer.refset.search import find_keys
from refexplorer.refset.summary import Summary, derive, summarize
from refexplorer.refset.target_layout import TargetLayout, TargetSummary
from refexplorer.refset.tree import Node, Page
from refexplorer.refset.writing.json import empty_as_text, v0_blocks
from refexplorer.refset.writing.parquet import write_parquet
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Finding, placed
from refexplorer.spec.references import Kind, Reference, V0Value
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.verbs.display import known_diagnostics, references_html, summary_text, tree_text

if TYPE_CHECKING:
    import xarray
    import zarr

    from refexplorer.checks.advice.advising import Advice
    from refexplorer.checks.advice.connections import Connection
    from refexplorer.checks.advice.selections import Access
    from refexplorer.checks.engine import AuditWatch, PartsLook
    from refexplorer.checks.locks import Lock
    from refexplorer.checks.look.coordinates import AxesLook
    from refexplorer.checks.report import Report
    from refexplorer.checks.sorting import Decode
    from refexplorer.checks.terms import CheckTerms, ReadTerms
    from refexplorer.io.fetch.targets import Targets
    from refexplorer.io.reading.code import CodeContext
    from refexplorer.io.reading.filesystem import ReferenceFileSystem
    from refexplorer.io.reading.readings import Reading
    from refexplorer.io.reading.selection import ArrayReading, Estimate, SelectionPart
    from refexplorer.io.reading.trace import Trace
    from refexplorer.spec.findings import Locator
    from refexplorer.verbs.logins import Login

PAGE_KEYS = 10_000
"""Rows of the tree that a saved page has."""


class ReferenceSet(Mapping[str, Reference]):
    """An opened reference set: a mapping from keys to references, which can be checked and read.

    Returned by `refexplorer.open_references`. Targets are read by `read`, `chunk`, `trace`, `audit`
    and `verify`, asked for their sizes by `check_targets`, and read through what `filesystem`,
    `to_zarr`, `to_xarray` and `to_datatree` return. Nothing else reads a target. Targets outside
    the folder of the reference file must be allowed by name:
    ``refs.allowing("s3://bucket").read("sst")``. A key, path or array that the set does not have
    raises `KeyError`.

    Attributes
    ----------
    source
        The origin of the set; ``source.form`` is ``"V0"``, ``"V1"``, ``"parquet"``, ``"Icechunk"``,
        ``"VirtualiZarr"`` or the name of a form that another package registered.
    limits
        What it may cost.
    templates
        The compiled templates of V1, by name.
    allowed
        Places that may be read, in addition to the folder of the reference file.
    storage_options
        Options for fsspec, for the targets.
    audited
        The report of the last `audit`, or None; the maps of the set show it.
    verified
        The report of the last `verify`, or None; the explorer counts it by array.
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
        self._results = _LastResults()
        self._internals = Internals(contents)
        self._opened = contents.opened

    def __reduce__(self) -> tuple[Any, ...]:
        options = (self.limits, self.storage_options, self.allowed)
        return _rebuild, (self.source.portable(), self._internals.contents, *options)

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

    __eq__ = object.__eq__  # comparing every key would never end for a large gen
    __hash__ = object.__hash__

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
        """Return the same opened set with more places whose targets may be read.

        Nothing is opened again, and both have the same `audited` and `verified`.

        Parameters
        ----------
        places
            Buckets (``"s3://bucket"``), hosts (``"https://host"``) and folders (``"/data"``), in
            addition to those that are allowed already.
        storage_options
            Options for fsspec by protocol or place (``{"s3": {…}, "s3://bucket": {…}}``), instead
            of those of the set.

        Raises
        ------
        AccessError
            If a name is not valid.
        FetchError
            If the package that reads a bucket is not installed.
        """
        from refexplorer.io.access import AccessPolicy
        from refexplorer.io.fetch.failures import require_packages

        refs = object.__new__(type(self))
        vars(refs).update(vars(self))
        for name in ("_known", "_targets"):  # which hold what is given here
            vars(refs).pop(name, None)
        names = AccessPolicy(None, places).names
        require_packages(names)
        refs.allowed = tuple(dict.fromkeys((*self.allowed, *names)))
        if storage_options is not None:
            refs.storage_options = dict(storage_options)
        return refs

    @property
    def audited(self) -> Report | None:
        """The last audit of the set."""
        return self._results.audited

    @audited.setter
    def audited(self, audit: Report | None) -> None:
        self._results.audited = audit

    @property
    def verified(self) -> Report | None:
        """The last comparison of the set with its files."""
        return self._results.verified

    @verified.setter
    def verified(self, report: Report | None) -> None:
        self._results.verified = report

    @property
    def count(self) -> int:
        """Number of keys; exact even if `len` would overflow."""
        return self._opened.count

    @cached_property
    def diagnostics(self) -> tuple[Finding, ...]:
        """The diagnostics, errors first; found when they are first asked for."""
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

        None if it is in the set, or the source has no such key. In a large document only the
        pointer says where.
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
        """Return the numbers of all keys of one origin, such as ``"gen[0]"``."""
        return numbers_from(self._opened, origin)

    def children(self, path: str = "", start: int = 0, stop: int | None = None) -> Page:
        """Return one page of one tree level; ``""`` is the root."""
        return self._opened.page(path, start, stop)

    def node(self, path: str) -> Node:
        """Return the row of the tree for a path."""
        return self._opened.node(path)

    def position(self, path: str) -> int:
        """Return the place of a path among its siblings, from 0."""
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
        """Yield the keys that match, lazily, in the order of the set.

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
            If the mode or kind is unknown, the pattern holds half a surrogate pair, or the regular
            expression cannot be read or is none of RE2's, which knows no look-around and no back
            references.
        LimitError
            After all that was found, if a gen item makes more keys than are searched.
        """
        if any("\ud800" <= letter <= "\udfff" for letter in pattern):
            raise RefexplorerError(
                "The pattern contains an unpaired surrogate, which no key contains."
            )
        return find_keys(self._internals.opened, pattern, mode, _kinds(kind), targets)

    def summary(self, path: str = "") -> Summary:
        """Count kinds, bytes, targets and missing chunks below a path; ``""`` is the whole set."""
        return summarize(self._opened, path)

    def arrays(self) -> tuple[str, ...]:
        """Return the paths of all arrays whose metadata can be read."""
        return self._opened.arrays.paths

    def array(self, path: str) -> ArrayMeta:
        """Return the metadata of the array at a path."""
        array = self._opened.arrays.get(path)
        if array is None:
            raise KeyError(path)
        return array

    def array_of(self, key: str) -> tuple[str, tuple[int, ...]] | None:
        """Return the path of the array that a key is a chunk of, and the chunk's index."""
        owner = self._opened.arrays.of_key(key)
        return None if owner is None else (owner[0].path, owner[1])

    def chunk_grid(self, path: str) -> ChunkReferences:
        """Return the references of the array at a path, on the grid of its chunks."""
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
        """Say where a key comes from: ``"refs"``, ``"gen[0]"`` or ``"parquet"``."""
        entry = self._opened.lookup(key)
        if entry is None:
            raise KeyError(key)
        return entry[0].origin

    def explain(self, key: str) -> Trace:
        """Trace a key from its entry, gen item or record over each template to the reference.

        Its target is not read; `trace` continues to the values.
        """
        from refexplorer.io.reading.trace import Trace

        steps = derive(
            self._opened,
            key,
            self.source,
            self._base,
            self.templates,
            self.limits,
        )
        return Trace(key, tuple(steps), self.origin(key), self[key])

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
        """Write the set to a file as V0 JSON; an existing file is replaced when all is written.

        The file is compressed if its name ends in ``.gz`` or ``.zst``.

        Raises
        ------
        RefexplorerError
            If the file cannot be written, or a key cannot be in V0.
        """
        check_expandable(self.count, self.limits)
        write_blocks(Path(path), v0_blocks(tables(self._opened.parts)))

    def to_parquet(self, path: str | os.PathLike[str], *, record_size: int = RECORD_SIZE) -> None:
        """Write the set as a parquet store.

        fsspec reads it to the same references, but finds no chunk of an array of Zarr v3, of one
        at the root, or of one whose indices have slashes between them; refexplorer does.

        Parameters
        ----------
        path
            The folder to create; it must not exist, and appears when everything is written.
        record_size
            Rows of a record file.

        Raises
        ------
        RefexplorerError
            If the folder exists, or the layout has no place for a key of the set.

        Warns
        -----
        LeftOutWarning
            If the set has references of such an array.
        """
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
        of targets, the values that are in the set itself or that `read` names (any part of them,
        side by side, and on the map of the earth), and what the last `audit` and `verify` found.
        Parts that are not in the file are marked as such. The file names no folder of this machine,
        unless the set or `allowing` does.

        Parameters
        ----------
        path
            The file; an existing one is replaced when everything is written.
        read
            Paths of arrays whose first view is read and included, with their latitude and
            longitude.
        check_targets
            Whether to request the size of each target first.
        keys
            Rows of the tree that are written. Of a larger set each group and array has the first
            ones, and the page says so; counts, notes and maps are of the whole set.

        Raises
        ------
        RefexplorerError
            If the file cannot be written.
        """
        from refexplorer.hosts.saved_page import save_page

        save_page(self, path, read=read, check_targets=check_targets, keys=keys)

    def estimate(self, path: str, selection: Sequence[int | slice] = ()) -> Estimate:
        """Return the chunks, bytes and requests that a part of an array takes; reads nothing.

        See `refexplorer.io.reading.selection.estimate_selection`.
        """
        from refexplorer.io.reading.selection import estimate_selection

        return estimate_selection(self, self.array(path), selection)

    def advise(
        self,
        access: Mapping[str, Access] | Iterable[tuple[str, Access]] = (),
        *,
        place: str | Connection = "object-store",
        measure: bool = False,
    ) -> Advice:
        """Estimate the cost of opening and reading, and list what would make them cheaper.

        Nothing is read, unless `measure` is set.

        For each array one map (the first index of time), one time series (all times at one point)
        and all of it. Where the first dimension is not time, one slice (its first index) and all
        along it at one point; of arrays with fewer than two dimensions, all alone.

        Parameters
        ----------
        access
            Further accesses by array: an integer or slice for each dimension, as in
            ``{"sst": [0, slice(10, 20)]}``, or lengths of Dask's chunks by the names of dimensions,
            as in ``{"sst": {"time": 10}}``. Both may be texts: ``"0, 10:20"``, ``"time=10"``.
        place
            Where the targets are, for the times: ``"object-store"`` (in the same region),
            ``"far-object-store"``, ``"http-server"``, ``"lustre"``, or a `Connection` with your own
            numbers.
        measure
            Measure latency and bandwidth with at most 15 requests to a target of the set;
            `Advice.asked` lists them. If ranges are short, the bandwidth of `place` is used.

        Returns
        -------
        Advice
            ``opening``, ``accesses``, ``findings`` by gain, ``bounds``; `print` shows them.

        Raises
        ------
        RefexplorerError
            If an array has no such part, there is no such place, or it cannot be measured.
        """
        from refexplorer.checks.advice.advising import advise
        from refexplorer.checks.advice.connections import connection_of, measure_connection

        accesses = tuple(access.items() if isinstance(access, Mapping) else access)
        if not measure:
            return advise(self.source, self._opened, accesses, place)
        policy = self._targets.policy
        place, asked = measure_connection(self, policy, self.storage_options, connection_of(place))
        return replace(advise(self.source, self._opened, accesses, place), asked=asked)

    def check(
        self, *, read_coordinates: bool = False, expect: str | os.PathLike[str] | None = None
    ) -> Report:
        """Return the problems of the set and its coordinates.

        Parameters
        ----------
        read_coordinates
            Also read coordinates in files, where that is allowed; if False, only inline coordinates
            are checked, and no file is opened.
        expect
            A TOML file of expectations: ends and steps of coordinates, arrays, required files. A
            difference is an error; anything that cannot be checked is unknown.

        Returns
        -------
        Report
            ``findings`` are those of `diagnostics`; headline and status as for all checks.
        """
        from refexplorer.checks.engine import check

        look = self._look_at_coordinates(read_coordinates, expect)
        opened, found = self._opened, self._internals.findings
        return check(self.source, opened, found, self.diagnostics, look)

    def _look_at_coordinates(
        self, read_coordinates: bool, expect: str | os.PathLike[str] | None
    ) -> AxesLook:
        from refexplorer.checks.expectations import (
            CheckedFacts,
            Expectations,
            files_fitting,
            plain_path,
        )
        from refexplorer.checks.expected_values import value_range
        from refexplorer.checks.look.coordinates import Expected, look_at_coordinates

        location, terms = self.source.location, self._reading
        facts = partial(
            CheckedFacts,
            missing=lambda path: self.summary(path).missing or 0,
            values_of=lambda path: value_range(
                self, path, self._targets, has_files=read_coordinates
            ),
            targets=lambda: (plain_path(each.url, location) for each in self.targets() if each.url),
            listing=lambda pattern: files_fitting(pattern, location, self.storage_options),
        )
        expected = None if expect is None else Expected(Expectations.read(Path(expect)), facts)
        read = partial(self.read, failed="keep") if read_coordinates else None
        return look_at_coordinates(self._opened, self.limits, terms.base, read, expected)

    def logins(self) -> tuple[Login, ...]:
        """Request one file of each bucket and host: without credentials, then with the options.

        Returns
        -------
        tuple[Login, ...]
            For each, the login that it needs, its region, and code that reads from it.
        """
        from refexplorer.verbs.logins import logins

        urls = (target.url for target in self.targets())
        given = self.source.location, self.allowed, self.storage_options, self.limits
        return tuple(logins(urls, *given))

    def check_targets(
        self,
        *,
        scheduler: object = None,
        workers: int | None = None,
        results: str | os.PathLike[str] | None = None,
        resume: bool = False,
        watch: AuditWatch = lambda progress: True,
        only: str | None = None,
        within: float | str | None = None,
        read_coordinates: bool = False,
        expect: str | os.PathLike[str] | None = None,
        against: Lock | str | os.PathLike[str] | None = None,
    ) -> Report:
        """Request the size and version of every target, and compare the sizes with the byte ranges.

        The versions are compared with those that Icechunk recorded when the references were
        written. No data are read; use `audit` to decode chunks.

        Parameters
        ----------
        scheduler, workers, results, resume, watch, only, within, against
            As `audit` has them. With `results` and `resume`, every target is requested again, and
            is reported as changed if its version differs from the earlier run.
        read_coordinates, expect
            As `check` has them.

        Returns
        -------
        Report
            ``files()`` has size, ETag, ranges past the end, or why it cannot be read.
        """
        from refexplorer.checks.targets_look import TargetsLook
        from refexplorer.checks.terms import CheckTerms

        terms = CheckTerms.of_verb("check --targets", only, within)
        axes = self._look_at_coordinates(read_coordinates, expect)
        look = TargetsLook(self._reading, "none", is_check=True)
        how = scheduler, workers, results, resume, watch
        return self._run(terms, look, against, *how).with_look(axes)

    def audit(
        self,
        *,
        decode: Decode | str = "sample",
        scheduler: object = None,
        workers: int | None = None,
        results: str | os.PathLike[str] | None = None,
        resume: bool = False,
        watch: AuditWatch = lambda progress: True,
        only: str | None = None,
        within: float | str | None = None,
        against: Lock | str | os.PathLike[str] | None = None,
    ) -> Report:
        """Check that all targets exist, that byte ranges are inside them, and that chunks decode.

        Works for large sets. A chunk that decodes may still have wrong values: use `verify` to
        compare values and metadata with the files.

        Parameters
        ----------
        decode
            Chunks of each array to read and decode: a number, ``"sample"`` (ten),
            ``"all"`` or ``"none"``.
        scheduler
            The address of a Dask scheduler, or a ``distributed.Client``; None uses threads of this
            process. The results are the same.
        workers
            How many threads.
        results
            A folder that keeps the results, a parquet file for each finished part.
        resume
            Continue after the last finished part in that folder. Size and version of the targets of
            finished parts are requested; if one changed, the part is repeated.
        watch
            Called with `refexplorer.checks.engine.AuditProgress`; return False to stop; the report
            then covers the finished parts.
        only
            A share of the files, such as ``"3/30"`` for the third of thirty: the same files for
            the same set, so that thirty runs cover all of it. With `results` and `resume`, the
            report includes the shares of earlier runs, with their age.
        within
            A time such as ``"30m"``, or seconds, after which no further part is started. The rest
            is unknown; with `results` and `resume`, the next run continues there.
        against
            A lock, or its file: lists files that changed, disappeared or came back since `lock`
            wrote it. Facts that a store does not report are unknown.

        Returns
        -------
        Report
            Headline and status, ``findings``, ``files()``, ``chunks(array)``, ``to_parquet`` (a row
            for each reference), ``to_json``, ``to_html``. The maps of this set show it, too.

        Raises
        ------
        SourceError
            If the folder has results and `resume` is False, or it cannot be written.
        RefexplorerError
            If the cluster cannot be reached, or disappears.
        """
        from refexplorer.checks.targets_look import TargetsLook
        from refexplorer.checks.terms import CheckTerms

        terms = CheckTerms.of_verb("audit", only, within)
        look = TargetsLook(self._reading, decode)
        self.audited = self._run(terms, look, against, scheduler, workers, results, resume, watch)
        return self.audited

    def verify(
        self,
        *,
        values: str = "none",
        scheduler: object = None,
        workers: int | None = None,
        results: str | os.PathLike[str] | None = None,
        resume: bool = False,
        watch: AuditWatch = lambda progress: True,
        only: str | None = None,
        within: float | str | None = None,
        against: Lock | str | os.PathLike[str] | None = None,
    ) -> Report:
        """Compare the set with the files' own metadata.

        The metadata of each file are read with the library of its format: where its chunks are,
        data types, filters, packing, units, names of dimensions, coordinates; and their versions
        with those that Icechunk recorded.

        Parameters
        ----------
        values
            Chunks of each array whose values are read through the set and with the library of the
            format, and compared as CF decodes them: ``"none"``, ``"sample"`` (ten) or ``"all"``.
        scheduler, workers, results, resume, watch, only, within, against
            As `audit` has them.

        Returns
        -------
        Report
            Headline and status, ``findings``, ``summary``, ``files()``, ``chunks(array)``,
            ``to_json``, ``to_parquet`` (a row for each file and array), ``to_html``.

        Raises
        ------
        SourceError
            If the folder has results and `resume` is False, or it cannot be written.
        RefexplorerError
            If the cluster cannot be reached, or disappears.
        """
        from refexplorer.checks.files_look import FilesLook
        from refexplorer.checks.terms import CheckTerms

        verb = "verify" if values == "none" else "verify --values"
        terms = CheckTerms.of_verb(verb, only, within)
        look = FilesLook(self._opened, self._reading, terms, values)
        self.verified = self._run(terms, look, against, scheduler, workers, results, resume, watch)
        return self.verified

    def lock(
        self,
        path: str | os.PathLike[str],
        *,
        checksums: Decode | str = "none",
        overwrite: bool = False,
        scheduler: object = None,
        workers: int | None = None,
        watch: AuditWatch = lambda progress: True,
        only: str | None = None,
    ) -> Report:
        """Record the current versions of the set and its files in one parquet file.

        It has the size and version of each file, shapes and ends of axes, and checksums of values;
        `check_targets`, `audit` and `verify` compare with it.

        Parameters
        ----------
        path
            The file to write.
        checksums
            Chunks of each array to read for checksums of their values: a number,
            ``"sample"`` (ten), ``"all"`` or ``"none"``.
        overwrite
            Replace the file.
        scheduler, workers, watch
            As `audit` has them.
        only
            A share of the files, as `audit` has it. The entries of other files stay unchanged, with
            their time, so thirty shares update the whole lock.

        Returns
        -------
        Report
            On the requests to the files; the lock is written even if some failed.

        Raises
        ------
        SourceError
            If the file exists and `overwrite` is False, or it cannot be written.
        """
        from refexplorer.checks.locks import Lock
        from refexplorer.checks.look.coordinates import look_at_coordinates
        from refexplorer.core.files import check_free

        written = Path(path).with_suffix("")
        if Path(path).suffix == ".lock" and written.suffix:
            raise SourceError(
                f"{os.fspath(path)!r} is what refexplorer itself uses while it writes "
                f"{str(written)!r}; name the lock {written.with_suffix('.lock').name!r}."
            )
        if not overwrite and only is None:
            check_free(Path(path))
        earlier = Lock.read(path) if only is not None and Path(path).exists() else None
        how: dict[str, Any] = {"scheduler": scheduler, "workers": workers, "only": only}
        if checksums == "none":
            report = self.check_targets(watch=watch, **how)
        else:
            report = self.audit(decode=checksums, watch=watch, **how)
        reading = self._reading
        read = partial(self.read, failed="keep") if self.allowed else None
        axes = look_at_coordinates(self._opened, self.limits, reading.base, read).axes
        metas = [
            meta for each in self._opened.arrays.paths if (meta := self._opened.arrays.get(each))
        ]
        made = Lock.of(report, metas, axes, reading.recorded)
        if earlier is not None:
            made = made.joined(earlier, [each.url for each in self.targets()])
        made.write(path, overwrite or earlier is not None)
        return report

    @property
    def _reading(self) -> ReadTerms:
        """What checks may read of the targets, and how."""
        from refexplorer.checks.terms import ReadTerms

        source = self.source
        allowed, options = self.allowed, self.storage_options
        return ReadTerms(source.location, allowed, self.limits, options).of(source)

    def _run(
        self,
        terms: CheckTerms,
        look: PartsLook,
        against: Lock | str | os.PathLike[str] | None,
        *manner: Any,
    ) -> Report:
        from refexplorer.checks.engine import Manner, run
        from refexplorer.checks.locks import lock_from

        opened, found, reading = self._opened, self._internals.findings, self._reading
        how = replace(Manner(*manner), against=lock_from(against))
        return run(self.source.name, opened, found, reading, terms, look, how)

    def filesystem(self) -> ReferenceFileSystem:
        """Return an fsspec filesystem over the keys; see `refexplorer.io.reading.filesystem`."""
        from refexplorer.io.reading.filesystem import ReferenceFileSystem

        self._warn_of_errors()
        return ReferenceFileSystem(self, self._targets)

    def to_zarr(self) -> zarr.Group | zarr.Array[Any]:
        """Return a read-only zarr group or array; only metadata is read now.

        The chunks of a selection are read together, in few requests. If ``zarr.config`` has another
        ``codec_pipeline.path`` than Zarr's default, that pipeline reads them, chunk by chunk.
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
            default they are read, as xarray does, if all of them are in the set or in allowed
            places; if not, a warning says what to allow.
        keywords
            For `xarray.open_dataset`; ``chunks={}`` makes dask arrays.

        Raises
        ------
        DecodeError
            If there is no such group, or an array has no dimension names.
        AccessError
            If coordinates are to be read that may not be read yet.

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
            If its target may not be read yet.
        """
        from refexplorer.io.reading.chunks import read_chunk

        return read_chunk(self, array, tuple(index), self._targets)

    def read(
        self,
        array: str,
        selection: SelectionPart | Sequence[SelectionPart] = (),
        *,
        failed: str = "raise",
    ) -> ArrayReading:
        """Read a part of an array; all its byte ranges are merged before the first request.

        Faster than `to_zarr`, where Zarr requests a few chunks at a time. Returns the state of each
        chunk.

        Parameters
        ----------
        array
            The path of the array.
        selection
            An integer or a slice for each dimension, or ``...``, as in ``values[0, 10:20]``.
        failed
            ``"raise"``, or ``"keep"``: return what could be read, with `ArrayReading.failures`.

        Returns
        -------
        ArrayReading
            ``values`` (also by `numpy.asarray`), ``count`` and ``mask`` of each state:
            ``"fetched"``, ``"fill"`` (no reference), ``"failed"``.

        Raises
        ------
        AccessError
            If its target may not be read yet.
        RefexplorerError
            If the array has no such part, or a chunk failed.
        """
        from refexplorer.io.reading.selection import read_selection

        return read_selection(self, array, selection, self._targets, failed=failed)

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
            A key: its chunk is read and decoded a step at a time. With `index` the path of an
            array.
        index
            The position of a value, an integer for each dimension; negative ones count from the
            end. The trace ends with what xarray shows and why.
        inner
            The index of an inner chunk in the grid of the shard at `path`. ``...`` reads the index
            of the shard alone, as `Trace.shard`.

        Returns
        -------
        Trace
            ``steps``, ``state``, ``message`` (why it breaks), ``values``; `print` shows them.

        Raises
        ------
        DecodeError
            If the array has no such position, the shard no such inner chunk, or it is no shard.
        AccessError
            If its target may not be read yet.
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

    def why(self, array: str, index: Sequence[int]) -> Trace:
        """Trace one value like `trace`; `Trace.cause` explains it."""
        from refexplorer.io.reading.trace_value import trace_value

        return trace_value(self, array, index, self._targets)

    def code(self, key: str | None = None) -> str:
        """Return Python that opens the set, a group, an array or a key with fsspec alone.

        Parameters
        ----------
        key
            A key, or the path of an array or a group; None is the whole set.
        """
        from refexplorer.io.reading.code import code

        return code(self, key, self._code_context, self.allowed)

    @cached_property
    def _locate(self) -> Locator | None:
        """A function that finds a pointer in the text, and walks through no part of it twice."""
        return locator_of(self.source)

    @property
    def _base(self) -> str:
        """The start of the pointer of an explicit key."""
        return ZMETADATA if self.source.form == "parquet" else self.source.key_base

    @cached_property
    def _code_context(self) -> CodeContext:
        from refexplorer.io.reading.code import CodeContext
        from refexplorer.readers.comparing import fsspec_options

        rendering = fsspec_options(self.source, self._internals.contents)
        return CodeContext(self._internals.example_urls, self.storage_options, rendering)

    @cached_property
    def _targets(self) -> Targets:
        """The reader of targets: one, so connections stay open and a changed file is noticed."""
        from refexplorer.io.access import AccessPolicy
        from refexplorer.io.fetch.targets import Targets

        endpoints = self.source.endpoints
        policy = AccessPolicy(self.source.location, self.allowed, endpoints=endpoints)
        return Targets(policy, self.storage_options, self.limits)

    def _warn_of_errors(self) -> None:
        """Warn of rejected keys; where not even their names are known, they read as fill values."""
        if errors := self.error_count - len(self.source.left_out):
            warnings.warn(
                f"{self.source.name} has {counted(errors, 'error')}. Reading a rejected chunk "
                "fails, or gives the fill value if its key is unknown. See `diagnostics`.",
                LeftOutWarning,
                stacklevel=3,
            )


@dataclass(slots=True)
class _LastResults:
    """Results that a set and those of `ReferenceSet.allowing` have in common."""

    audited: Report | None = None
    verified: Report | None = None


def _rebuild(source: Source, *arguments: Any) -> ReferenceSet:
    """Put a set together that came from another process."""
    return ReferenceSet(source.without_local_file(), *arguments)


def _kinds(kind: Kind | str | Iterable[Kind | str] | None) -> tuple[Kind, ...]:
    kinds = (kind,) if isinstance(kind, str) else tuple(kind or ())
    for unknown in set(kinds).difference(Kind):
        raise RefexplorerError(
            f"{unknown!r} is not a kind of reference; use one of {', '.join(Kind)}."
        )
    return tuple(map(Kind, kinds))
