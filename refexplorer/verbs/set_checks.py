"""Queries of a `ReferenceSet` on its files: selections of arrays, checks, read costs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import SourceError

if TYPE_CHECKING:
    from refexplorer.checks.advice.accesses import Access
    from refexplorer.checks.advice.advising import Advice
    from refexplorer.checks.advice.requests import Connection
    from refexplorer.checks.engine import AuditWatch, PartsLook
    from refexplorer.checks.locks import Lock
    from refexplorer.checks.look.coordinates import AxesLook
    from refexplorer.checks.report import Report
    from refexplorer.checks.sorting import Decode
    from refexplorer.checks.terms import CheckTerms, ReadTerms
    from refexplorer.io.fetch.targets import Targets
    from refexplorer.io.reading.selection import ArrayReading, Estimate, SelectionPart
    from refexplorer.verbs.logins import Login
    from refexplorer.verbs.referenceset import SetEntries
else:
    SetEntries = object  # `ReferenceSet` is both


class SetChecks(SetEntries):
    """Values of a set, its checks, including against its files, and advice."""

    allowed: tuple[str, ...]
    storage_options: dict[str, Any]
    _results: dict[str, Report | None]  # Shared with the sets made by `ReferenceSet.allowing`

    @property
    def audited(self) -> Report | None:
        """The last audit of the set."""
        return self._results.get("audited")

    @audited.setter
    def audited(self, audit: Report | None) -> None:
        self._results["audited"] = audit

    @property
    def verified(self) -> Report | None:
        """The last comparison of the set with its files."""
        return self._results.get("verified")

    @verified.setter
    def verified(self, report: Report | None) -> None:
        self._results["verified"] = report

    def check(
        self, *, read_coordinates: bool = False, expect: str | os.PathLike[str] | None = None
    ) -> Report:
        """Return the problems of the set and its coordinates.

        Parameters
        ----------
        read_coordinates
            Also read coordinates in files, if that is allowed; if False, only inline coordinates
            are checked, and no file is opened.
        expect
            An expectations file (TOML): ends and steps of coordinates, arrays, required files. A
            deviation is an error; anything that cannot be checked is unknown.

        Returns
        -------
        Report
            ``findings`` are the same as `diagnostics`; headline and status as for all checks.
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
        from refexplorer.checks.look.coordinates import look_at_coordinates

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
        expected = None if expect is None else Expectations.read(Path(expect))
        read = partial(self.read, failed="keep") if read_coordinates else None
        return look_at_coordinates(self._opened, self.limits, terms.base, read, expected, facts)

    def logins(self) -> tuple[Login, ...]:
        """Request one file of each bucket and host: without credentials, then with the options.

        Returns
        -------
        tuple[Login, ...]
            For each, the required login, its region, and code that reads from it.
        """
        from refexplorer.verbs.logins import logins

        urls = (target.url for target in self.targets())
        given = self.source.location, self.allowed, self.storage_options, self.limits
        return tuple(logins(urls, *given))

    def check_targets(
        self,
        *,
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
        """Request the size and version of every target, and compare sizes with byte ranges.

        The versions are compared with those that Icechunk recorded when the references were
        written. No data are read; use `audit` to decode chunks.

        Parameters
        ----------
        workers, results, resume, watch, only, within, against
            Same as in `audit`. With `results` and `resume`, every target is requested again, and
            is reported as changed if its version differs from the earlier run.
        read_coordinates, expect
            Same as in `check`.

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
        how = workers, results, resume, watch
        return self._run(terms, look, against, *how).with_look(axes)

    def audit(
        self,
        *,
        decode: Decode | str = "sample",
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
        workers
            The number of threads.
        results
            A folder that keeps the results, one parquet file per finished part.
        resume
            Continue after the last finished part in that folder. Size and version of the targets of
            finished parts are requested; if one changed, the part is repeated.
        watch
            Called with `refexplorer.checks.engine.AuditProgress`; return False to stop; the report
            then covers the finished parts.
        only
            A share of the files, such as ``"3/30"`` for the third of thirty: the same files for
            the same set, so that thirty runs cover all of it. With `results` and `resume`, the
            report includes the shares checked in earlier runs, and how old these results are.
        within
            A duration such as ``"30m"``, or seconds, after which no further part is started. The
            rest is unknown; with `results` and `resume`, the next run continues there.
        against
            A lock, or its file: lists files that changed, disappeared or came back since `lock`
            wrote it. Facts that a store does not report are unknown.

        Returns
        -------
        Report
            Headline and status, ``findings``, ``files()``, ``chunks(array)``, ``to_parquet`` (one
            row per reference), ``to_json``, ``to_html``. It is also displayed in the maps of this
            set.

        Raises
        ------
        SourceError
            If the folder has results and `resume` is False, or it cannot be written.
        """
        from refexplorer.checks.targets_look import TargetsLook
        from refexplorer.checks.terms import CheckTerms

        terms = CheckTerms.of_verb("audit", only, within)
        look = TargetsLook(self._reading, decode)
        self.audited = self._run(terms, look, against, workers, results, resume, watch)
        return self.audited

    def verify(
        self,
        *,
        values: str = "none",
        workers: int | None = None,
        results: str | os.PathLike[str] | None = None,
        resume: bool = False,
        watch: AuditWatch = lambda progress: True,
        only: str | None = None,
        within: float | str | None = None,
        against: Lock | str | os.PathLike[str] | None = None,
    ) -> Report:
        """Compare the set with the files' own metadata.

        The metadata of each file are read with the library of its format: chunk locations, data
        types, filters, packing, units, dimension names, coordinates. The versions of files are
        compared with those that Icechunk recorded.

        Parameters
        ----------
        values
            Chunks of each array whose values are read through the set and with the library of the
            format, and compared as CF decodes them: ``"none"``, ``"sample"`` (ten) or ``"all"``.
        workers, results, resume, watch, only, within, against
            Same as in `audit`.

        Returns
        -------
        Report
            Headline and status, ``findings``, ``summary``, ``files()``, ``chunks(array)``,
            ``to_json``, ``to_parquet`` (one row per file and array), ``to_html``.

        Raises
        ------
        SourceError
            If the folder has results and `resume` is False, or it cannot be written.
        """
        from refexplorer.checks.look.files import FilesLook
        from refexplorer.checks.terms import CheckTerms

        verb = "verify" if values == "none" else "verify --values"
        terms = CheckTerms.of_verb(verb, only, within)
        look = FilesLook(self._opened, self._reading, terms, values)
        self.verified = self._run(terms, look, against, workers, results, resume, watch)
        return self.verified

    def lock(
        self,
        path: str | os.PathLike[str],
        *,
        checksums: Decode | str = "none",
        overwrite: bool = False,
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
            How many chunks of each array to read for checksums of their values: a number,
            ``"sample"`` (ten), ``"all"`` or ``"none"``.
        overwrite
            Replace the file.
        workers, watch
            Same as in `audit`.
        only
            A share of the files, as in `audit`. The entries of other files stay unchanged, with
            their times, so thirty shares update the whole lock.

        Returns
        -------
        Report
            The report on the requests to the files; the lock is written even if some failed.

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
                f"{os.fspath(path)!r} is the temporary name that refexplorer uses while it writes "
                f"{str(written)!r}; name the lock {written.with_suffix('.lock').name!r}."
            )
        if not overwrite and only is None:
            check_free(Path(path))
        earlier = Lock.read(path) if only is not None and Path(path).exists() else None
        how: dict[str, Any] = {"workers": workers, "only": only}
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

    def read(
        self,
        array: str,
        selection: SelectionPart | Sequence[SelectionPart] = (),
        *,
        failed: str = "raise",
    ) -> ArrayReading:
        """Read a selection of an array; all its byte ranges are merged before the first request.

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
            If its target is not allowed yet.
        RefexplorerError
            If the selection is invalid, or a chunk failed.
        """
        from refexplorer.io.reading.selection import read_selection

        return read_selection(self, array, selection, self._targets, failed=failed)

    @cached_property
    def _targets(self) -> Targets:
        """The reader of targets: shared, so connections stay open and changed files are noticed."""
        from refexplorer.io.access import AccessPolicy
        from refexplorer.io.fetch.targets import Targets

        endpoints = self.source.endpoints
        policy = AccessPolicy(self.source.location, self.allowed, endpoints=endpoints)
        return Targets(policy, self.storage_options, self.limits)

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
        from refexplorer.checks.locks import Lock

        opened, found, reading = self._opened, self._internals.findings, self._reading
        lock = against if against is None or isinstance(against, Lock) else Lock.read(against)
        how = replace(Manner(*manner), against=lock)
        return run(self.source.name, opened, found, reading, terms, look, how)

    def estimate(self, path: str, selection: Sequence[int | slice] = ()) -> Estimate:
        """Return the chunks, bytes and requests that a selection of an array takes; reads nothing.

        See `refexplorer.io.reading.selection.estimate_selection`.
        """
        from refexplorer.io.reading.selection import estimate_selection

        return estimate_selection(self, self.array(path), selection)

    def advise(
        self,
        access: Mapping[str, Access] | Iterable[tuple[str, Access]] = (),
        *,
        place: str | Connection = "object-store",
    ) -> Advice:
        """Estimate the cost of opening and reading, and list what would make them cheaper.

        Nothing is read.

        For each array: one map (the first index of time), one time series (all times at one point)
        and the whole array. If the first dimension is not time: one slice (its first index) and a
        series along it at one point. For arrays with fewer than two dimensions: the whole array.

        Parameters
        ----------
        access
            Further access patterns by array: an integer or slice for each dimension, as in
            ``{"sst": [0, slice(10, 20)]}``, or as text: ``"0, 10:20"``.
        place
            The location of the targets, to estimate times: ``"object-store"`` (in the same region),
            ``"far-object-store"``, ``"http-server"``, ``"lustre"``, or a `Connection` with your own
            values.

        Returns
        -------
        Advice
            ``opening``, ``accesses``, ``findings`` by gain, ``bounds``; `print` shows them.

        Raises
        ------
        RefexplorerError
            If a selection is invalid, or there is no connection of that name.
        """
        from refexplorer.checks.advice.advising import advise

        accesses = tuple(access.items() if isinstance(access, Mapping) else access)
        return advise(self.source, self._opened, accesses, place)
