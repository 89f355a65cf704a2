"""The part of a `ReferenceSet` that reads targets: what it takes, and what may be read."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from refexplorer.errors import LeftOutWarning
from refexplorer.spec.core.catalogue import Severity
from refexplorer.spec.core.references import Reference, V0Value

if TYPE_CHECKING:
    import xarray
    import zarr

    from refexplorer.data.audit.auditing import Watch
    from refexplorer.data.audit.plan.sampling import Decode
    from refexplorer.data.audit.report.audit_report import Audit
    from refexplorer.data.check.check_results import TargetChecks
    from refexplorer.data.check.checking import Checked
    from refexplorer.data.fetch.target_reader import Targets
    from refexplorer.data.open.filesystem import ReferenceView
    from refexplorer.data.open.snippets import Known
    from refexplorer.data.read.chunk_reader import Reading
    from refexplorer.data.read.estimates import Estimate
    from refexplorer.data.read.ladder import Ladder
    from refexplorer.formats.source import Source
    from refexplorer.limits import Limits
    from refexplorer.refset.opened.opened_set import OpenedSet
    from refexplorer.refset.targets.target_index import TargetIndex
    from refexplorer.refset.tree.nodes import Page
    from refexplorer.spec.core.diagnostics import Diagnostic, Findings
    from refexplorer.spec.core.zarr_metadata import ArrayMeta


class ReadableSet(Mapping[str, Reference]):
    """A reference set whose targets can be read; `ReferenceSet` is the one that people hold.

    Every method takes ``allow``, what may be read besides the folder of the reference file (such
    as ``"s3://bucket"``), and ``storage_options``, options for fsspec by protocol or place
    (``{"s3": {…}, "s3://bucket": {…}}``), in place of those that the set was opened with.
    """

    source: Source
    limits: Limits
    storage_options: dict[str, Any]
    _findings: Findings
    audited: Audit | None = None
    """What the last `audit` found; the maps of the set show it."""

    @property
    def error_count(self) -> int:
        """How many errors were found by what was read; `diagnostics` also looks for what is odd."""
        return sum(found.count for found in self._findings if found.severity is Severity.ERROR)

    @abstractmethod
    def left_out(self, key: str) -> Diagnostic | None:
        """Return the error because of which a key of the source is not in the set, or None."""

    @abstractmethod
    def children(self, path: str = "", start: int = 0, stop: int | None = None) -> Page:
        """Return one page of one tree level."""

    @abstractmethod
    def arrays(self) -> tuple[str, ...]:
        """Return the paths of all arrays."""

    @abstractmethod
    def array(self, path: str) -> ArrayMeta:
        """Return the metadata of an array."""

    @property
    @abstractmethod
    def opened(self) -> OpenedSet:
        """The columns behind it."""

    @property
    @abstractmethod
    def target_index(self) -> TargetIndex:
        """All references by their targets."""

    @abstractmethod
    def array_of(self, key: str) -> tuple[str, tuple[int, ...]] | None:
        """Return the path of the array that a key is a chunk of, and the chunk's index."""

    @property
    def v0(self) -> Mapping[str, V0Value]:
        """The set as V0, made key by key: the ``fo`` of fsspec's ``ReferenceFileSystem``."""
        from refexplorer.data.open.v0_mapping import V0Mapping

        return V0Mapping(self)

    @property
    @abstractmethod
    def example_urls(self) -> tuple[str | None, ...]:
        """One target for each place that the set refers to."""

    def estimate(self, path: str, selection: Sequence[int | slice] = ()) -> Estimate:
        """Return the chunks, bytes and requests that a part of an array takes; reads nothing.

        See `refexplorer.data.read.estimates.estimate_selection`.

        Raises
        ------
        KeyError
            If there is no such array.
        """
        from refexplorer.data.read.estimates import estimate_selection

        return estimate_selection(self, self.array(path), selection)

    def check_targets(
        self,
        *,
        allow: Collection[str] = (),
        storage_options: Mapping[str, Any] | None = None,
        resume: str | os.PathLike[str] | None = None,
        checked: Checked = lambda done, of: True,
        concurrency: int = 16,
    ) -> TargetChecks:
        """Ask every target for its size and version, and compare the sizes with the byte ranges.

        Nothing of the targets is read: whether bytes can be decoded is for `audit`.

        Parameters
        ----------
        allow, storage_options
            As the class says; what is not allowed is not asked, and its record says so.
        resume
            A file to keep the results in; a second check with the same file goes on from there.
        checked
            Called with the targets checked and their number; False stops.
        concurrency
            Targets that are asked at a time.

        Returns
        -------
        TargetChecks
            A sequence of records: size, ETag, ranges past the end, or why it cannot be read.
        """
        from refexplorer.data.check.checking import check_targets
        from refexplorer.data.check.journal import Journal

        journal, targets = Journal(resume), self._targets(allow, storage_options)
        name, index = self.source.name, self.target_index
        return check_targets(name, index, targets, journal, checked, concurrency)

    def audit(
        self,
        *,
        decode: Decode | str = "sample",
        scheduler: object = None,
        workers: int | None = None,
        results: str | os.PathLike[str] | None = None,
        resume: bool = False,
        allow: Collection[str] = (),
        storage_options: Mapping[str, Any] | None = None,
        watch: Watch = lambda progress: True,
    ) -> Audit:
        """Ask all targets, compare all byte ranges with their sizes, and decode chunks.

        For large sets, too. That a chunk decodes does not say that it has the right values: values
        and metadata are not compared with the files, and the summary says what was not checked.

        Parameters
        ----------
        decode
            Chunks of each array that are read and decoded: a number, ``"sample"`` (ten),
            ``"all"`` or ``"none"``.
        scheduler
            The address of a Dask scheduler, or a ``distributed.Client``; None works in threads of
            this process. The results are the same.
        workers
            How many threads.
        results
            A folder that keeps the results, a parquet file for each finished part.
        resume
            Go on after the last finished part in that folder.
        allow, storage_options
            As the class says; what is not allowed is not asked. They are never written.
        watch
            Called with `refexplorer.data.audit.auditing.AuditProgress`; False stops, and the
            report is of what was finished.

        Returns
        -------
        Audit
            ``summary`` (which `print` shows), ``tables()``, ``targets()``, ``record_files()``,
            ``grid(array)``, ``to_parquet``, ``to_html``. The maps of this set show it, too.

        Raises
        ------
        SourceError
            If the folder has results and they are not to be used, or it cannot be written.
        RefexplorerError
            If there is no such cluster, or it goes away.
        """
        from refexplorer.data.audit.auditing import Manner, audit
        from refexplorer.data.audit.work.auditor import Auditor

        options = self._options(storage_options)
        auditor = Auditor(self.source.location, tuple(allow), self.limits, options)
        manner = Manner(decode, scheduler, workers, results, resume, watch)
        found = audit(self.source.name, self.opened, self._findings, auditor, manner)
        self.audited = found
        return found

    def filesystem(
        self, *, allow: Collection[str] = (), storage_options: Mapping[str, Any] | None = None
    ) -> ReferenceView:
        """Return an fsspec filesystem over the keys; see `refexplorer.data.open.filesystem`."""
        from refexplorer.data.open.filesystem import filesystem

        self._warn_of_errors()
        return filesystem(self, allow=allow, storage_options=self._options(storage_options))

    def to_zarr(
        self, *, allow: Collection[str] = (), storage_options: Mapping[str, Any] | None = None
    ) -> zarr.Group | zarr.Array[Any]:
        """Return a read-only zarr group or array; only metadata is read now."""
        from refexplorer.data.open.stores import to_zarr

        self._warn_of_errors()
        return to_zarr(self, allow=allow, storage_options=self._options(storage_options))

    def to_xarray(
        self,
        *,
        group: str = "",
        coordinates: bool = False,
        allow: Collection[str] = (),
        storage_options: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> xarray.Dataset:
        """Return a group as a dataset; only metadata is read now.

        Parameters
        ----------
        group
            The path of the group; ``""`` is the root.
        coordinates
            Read the dimension coordinates now: `sel` needs them, and so does decoding times.
        allow, storage_options
            As the class says.
        keywords
            For `xarray.open_dataset`; ``chunks={}`` makes dask arrays.

        Raises
        ------
        DecodeError
            If there is no such group, or an array has no dimension names.
        """
        from refexplorer.data.open.stores import to_xarray

        self._warn_of_errors()
        options = self._options(storage_options)
        return to_xarray(
            self,
            group=group,
            coordinates=coordinates,
            allow=allow,
            storage_options=options,
            **keywords,
        )

    def to_datatree(
        self,
        *,
        coordinates: bool = False,
        allow: Collection[str] = (),
        storage_options: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> xarray.DataTree:
        """Return all groups as a tree of datasets; otherwise as `to_xarray`."""
        from refexplorer.data.open.stores import to_datatree

        self._warn_of_errors()
        options = self._options(storage_options)
        return to_datatree(
            self, coordinates=coordinates, allow=allow, storage_options=options, **keywords
        )

    def chunk(
        self,
        array: str,
        index: Sequence[int],
        *,
        allow: Collection[str] = (),
        storage_options: Mapping[str, Any] | None = None,
    ) -> Reading:
        """Read one chunk: its values, and whether they were fetched, are the fill value, or failed.

        Parameters
        ----------
        array
            The path of the array.
        index
            Of the chunk in the grid of chunks.
        allow, storage_options
            As the class says.

        Raises
        ------
        KeyError
            If there is no such array.
        DecodeError
            If the grid has no such chunk.
        AccessError
            If its target may not be read yet.
        """
        from refexplorer.data.read.chunk_reader import read_chunk

        return read_chunk(self, array, tuple(index), self._targets(allow, storage_options))

    def ladder(
        self,
        key: str,
        *,
        allow: Collection[str] = (),
        storage_options: Mapping[str, Any] | None = None,
    ) -> Ladder:
        """Read and decode a key a step at a time: its bytes, after each codec, its values.

        Raises
        ------
        KeyError
            If there is no such key, and no chunk that would have it.
        AccessError
            If its target may not be read yet.
        """
        from refexplorer.data.read.ladder import ladder

        return ladder(self, key, self._targets(allow, storage_options))

    def code(self, key: str | None = None, *, allow: Collection[str] = ()) -> str:
        """Return Python that opens the set, a group, an array or a key with fsspec alone.

        Parameters
        ----------
        key
            A key, or the path of an array or a group; None is the whole set.
        allow
            What reading it needs, for the sets that only refexplorer reads.
        """
        from refexplorer.data.open.snippets import code

        return code(self, key, self._known, allow)

    @cached_property
    def _known(self) -> Known:
        from refexplorer.data.open.snippets import Known, rendering

        return Known(self.example_urls, self.storage_options, rendering(self))

    def _targets(
        self, allow: Collection[str], storage_options: Mapping[str, Any] | None
    ) -> Targets:
        from refexplorer.data.access.policy import AccessPolicy
        from refexplorer.data.fetch.target_reader import Targets

        policy = AccessPolicy(self.source.location, allow)
        return Targets(policy, self._options(storage_options), self.limits)

    def _warn_of_errors(self) -> None:
        """Warn of left-out keys; where not even their names are known, they read as fill values."""
        if errors := self.error_count:
            warnings.warn(
                f"{self.source.name} has {errors:,} errors. A chunk that they left out fails when "
                "it is read, or is the fill value if its key is not known. See `diagnostics`.",
                LeftOutWarning,
                stacklevel=3,
            )

    def _options(self, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
        return self.storage_options if given is None else given
