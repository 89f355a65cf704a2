"""`preflight`: what prevents files from being combined, for all files and variables at once.

The rules are those of `refexplorer.verbs.joining`, which stops at the first difference; here all
are listed.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any

from refexplorer.checks.axes import NO_VALUES, AxisValues, axis_findings
from refexplorer.checks.look.coordinates import coordinates
from refexplorer.core.errors import RefexplorerError
from refexplorer.core.files import FileCount, Progress
from refexplorer.core.text import KEYS, array_text, code, counted, escape, masked, shown, table
from refexplorer.formats.other_files import sources_of
from refexplorer.refset.opened_set import internals
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Finding
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.verbs.joining import axis_terms, chunk_lengths, joined_terms, without
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet

SCHEMA = 1
_NAMED = 3  # files that a line names
_CHARS = 100
_VALUES = 2**22  # Values of the concatenated coordinate that are compared with each other


@dataclass(frozen=True, slots=True)
class Barrier:
    """A difference between some files and most others that prevents combining them.

    Attributes
    ----------
    variable
        The path of the array; empty for the file itself.
    what
        ``"scale_factor"``, ``"chunks"``, ``"dimensions"``, ``"values"``, …
    usual, other
        The value in most files, and in these.
    files
        The names of these files.
    """

    variable: str
    what: str
    usual: str
    other: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Era:
    """Files that can be combined with each other.

    Attributes
    ----------
    files
        The names of the files, ordered by their coordinate.
    first, last
        The first and last value of the coordinate; None if unknown.
    partial
        An array whose last chunk is partial, so nothing can be appended; None if there is none.
    """

    files: tuple[str, ...]
    first: str | None = None
    last: str | None = None
    partial: str | None = None


@dataclass(frozen=True)
class Preflight:
    """The barriers between files, and which files can be combined.

    Attributes
    ----------
    dimension
        The dimension along which they are concatenated; None if they differ along none.
    files
        The number of files.
    barriers
        The differences, by variable.
    eras
        The smallest number of groups of files that can be combined.
    findings
        Gaps, duplicates and disorder of the concatenated coordinate.
    unread
        Why files, or their coordinates, could not be read, by file name.
    """

    dimension: str | None
    files: int
    barriers: tuple[Barrier, ...]
    eras: tuple[Era, ...]
    findings: tuple[Finding, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The exit status: 1 if not all can be combined, 2 if some could not be read, else 0."""
        is_odd = any(each.severity is Severity.ERROR for each in self.findings)
        return 1 if len(self.eras) > 1 or is_odd else 2 if self.unread else 0

    @property
    def headline(self) -> str:
        """One line, without a full stop."""
        known = sum(len(era.files) for era in self.eras)
        count = counted(self.files, "file")
        if known < self.files:
            count = f"{known:,} of {count}"
        along = f" along {escape(self.dimension)}" if self.dimension else " along a new dimension"
        if self.files == 1 and not self.unread:
            return "1 file, so there is nothing to combine it with"
        if 1 < len(self.eras) == known:
            return f"no two of {counted(known, 'file')} can be combined"
        if len(self.eras) > 1:
            return f"{count} can be combined{along} in {len(self.eras):,} groups only"
        if self.unread:
            lost = f"{counted(len(self.unread), 'file')} could not be read completely"
            rest = f"; {counted(known, 'file')} can be combined{along}" if known > 1 else ""
            return f"not known: {lost}{rest}"
        if self.status:
            return f"{count} can be combined{along}, but values of the coordinate repeat"
        return f"{count} can be combined{along}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        facts = asdict(replace(self, findings=()))
        facts["findings"] = [each.to_dict() for each in self.findings]
        head = {"schema": SCHEMA, "headline": self.headline, "status": self.status}
        found: dict[str, Any] = masked(head | facts, KEYS)
        return found

    def __str__(self) -> str:
        lines = [self.headline]
        lines += ["  " + "  ".join(row) for row in self._rows()]
        if len(self.eras) > 1:
            for number, era in enumerate(self.eras, 1):
                ends = "" if era.first is None else f", {era.first} to {era.last}"
                if era.partial is not None:
                    ends += f"; ends inside a chunk of {array_text(era.partial)}"
                lines.append(f"  Group {number:,}: {_files_text(era.files)}{ends}")
        lines += [f"  {found.severity} {found.code}: {found.message}" for found in self.findings]
        alike: dict[str, list[str]] = {}
        for name, why in self.unread.items():
            why = why.removeprefix(f"{name}: ").removeprefix(f"{name} ")
            why = re.sub(rf"(?<![\w'\"/]){re.escape(name)}(?![\w'\"/*])", "it", why)
            alike.setdefault(why, []).append(name)
        for why, names in alike.items():
            lines.append(f"  {_files_text(names)}: {why}")
        return "\n".join(lines)

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        for each in self.barriers:
            name = array_text(each.variable) if each.variable else "(file)"
            values = f"{escape(each.usual, _CHARS)} | {escape(each.other, _CHARS)}"
            yield name, each.what, values, _files_text(each.files)

    def _repr_html_(self) -> str:
        rows = [
            (code(b.variable, _CHARS), shown(b.what), shown(b.usual, _CHARS),
             shown(b.other, _CHARS), shown(_files_text(b.files)))
            for b in self.barriers
        ]  # fmt: skip
        parts = [(shown(_files_text(e.files)), shown(e.first or ""), shown(e.last or ""))
                 for e in self.eras]  # fmt: skip
        head = ("Variable", "What", "Most files", "These files", "Files")
        tables = table(head, rows) if rows else ""
        tables += table(("Files of a group", "First", "Last"), parts) if len(parts) > 1 else ""
        return f'<div class="refexplorer"><p><b>{shown(self.headline)}</b></p>{tables}</div>'


def preflight(
    source: object,
    *,
    concat_dim: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Preflight:
    """Compare files, and find out which of them can be combined. No data chunk is read.

    Parameters
    ----------
    source
        A local pattern such as ``"2024*.nc"``, or a list of paths and URLs.
    concat_dim
        The dimension along which to concatenate; None chooses the one whose coordinate differs.
    storage_options
        Same as in `open_references`.
    progress
        Called with two counts of files.

    Returns
    -------
    Preflight
        A table of differences, and the smallest number of groups of files that can be combined.

    Raises
    ------
    SourceError
        If no file matches the pattern.
    """
    sources = [os.fspath(each) for each in sources_of(source)[0]]
    names = [each.rstrip("/").rpartition("/")[2] for each in sources]
    names = names if len({*names}) == len(names) else sources
    files: list[_JoinTerms] = []
    unread: dict[str, str] = {}
    for number, (path, name) in enumerate(zip(sources, names, strict=True)):
        try:
            files.append(_JoinTerms(open_references(path, storage_options=storage_options), name))
            if files[-1].unread:
                unread[name] = files[-1].unread
        except RefexplorerError as error:
            unread[name] = str(error)
        if progress is not None:
            progress(FileCount(number + 1), FileCount(len(sources)))
    dimension = concat_dim or _dimension(files)
    rules = [dict(each.rules(dimension)) for each in files]
    barriers = tuple(_barriers(rules, [each.name for each in files]))
    parts = list(_parts(files, rules, dimension))
    findings = tuple(each for part in parts for each in _odd(part, dimension))
    eras = tuple(_era(part, dimension) for part in parts)
    return Preflight(dimension, len(sources), barriers, eras, findings, unread)


class _JoinTerms:
    """What matters of a file for combining it with others: small enough for thousands."""

    def __init__(self, refs: ReferenceSet, name: str) -> None:
        self.name = name
        self.unread = ""
        self.arrays: dict[str, ArrayMeta] = {path: refs.array(path) for path in refs.arrays()}
        self.axes: dict[str, AxisValues] = {}
        opened = internals(refs).contents.opened
        for each in coordinates(opened, refs.limits, lambda path: refs.read(path, failed="keep")):
            path = each.array.meta.path
            if each.why == NO_VALUES:
                continue
            if each.stored is None or each.is_there is None:
                self.unread = f"{array_text(path)} was not read: {each.why}"
            else:
                self.axes[path] = AxisValues(each.array, each.stored, each.is_there)

    def dimensions(self) -> set[str]:
        """Return the names of all dimensions."""
        return {name for each in self.arrays.values() for name in each.dimensions or ()}

    def axis(self, dimension: str | None) -> AxisValues | None:
        """Return the values along a dimension, from the first group that has them."""
        names = (path for path in self.axes if path.rpartition("/")[2] == dimension)
        return next((self.axes[path] for path in names), None)

    def rules(self, dimension: str | None) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield what combined files must have in common: variable and rule, and its value."""
        exists = dimension in self.dimensions()
        versions = {str(each.zarr_format) for each in self.arrays.values()}
        yield ("", "Zarr version"), ", ".join(sorted(versions))
        for path, meta in self.arrays.items():
            yield (path, "present"), "yes"
            names = meta.dimensions or ()
            is_coordinate = names == (path.rpartition("/")[2],)
            is_joined = dimension in names or (not exists and not is_coordinate)
            if is_joined or is_coordinate:
                yield (path, "dimensions"), ", ".join(map(str, names))
            if is_coordinate:
                if not is_joined and path in self.axes:
                    yield (path, "values"), _digest(self.axes[path])
                if is_joined:
                    yield from (((path, what), _text(value)) for what, value in axis_terms(meta))
            elif is_joined:
                at = names.index(dimension) if dimension in names else None
                yield (path, "shape"), _text(without(meta.shape, at))
                yield (path, "chunks"), _text(without(chunk_lengths(meta), at))
                yield from (((path, what), _text(value)) for what, value in joined_terms(meta))

    def partial(self, dimension: str | None) -> str | None:
        """Return an array to which nothing can be appended, because its last chunk is partial."""
        for path, meta in self.arrays.items():
            names = meta.dimensions or ()
            if dimension in names and names != (path.rpartition("/")[2],):
                axis = meta.axes[names.index(dimension)]
                if sum(size * times for size, times in axis.runs) != axis.extent:
                    return path
        return None


def _dimension(files: Sequence[_JoinTerms]) -> str | None:
    """Return the dimension whose coordinate differs most often, preferring time."""
    seen: dict[str, Counter[str]] = {}
    times = set()
    for file in files:
        for path, axis in file.axes.items():
            name = path.rpartition("/")[2]
            seen.setdefault(name, Counter())[_digest(axis)] += 1
            if axis.is_time:
                times.add(name)
    found = [name for name, digests in seen.items() if len(digests) > 1]
    return max(found, key=lambda name: (name in times, len(seen[name])), default=None)


def _barriers(
    rules: Sequence[Mapping[tuple[str, str], str]], names: Sequence[str]
) -> Iterator[Barrier]:
    """Yield the differences of some files from most; a missing variable only once."""
    keys = dict.fromkeys(key for each in rules for key in each)
    for variable, what in keys:
        values = [each.get((variable, what)) for each in rules]
        if what == "present":
            values = [value or "no" for value in values]
        groups: dict[str, list[str]] = {}
        for value, name in zip(values, names, strict=True):
            if value is not None:
                groups.setdefault(value, []).append(name)
        usual = max(groups, key=lambda value: len(groups[value]))
        for other, having in groups.items():
            if other != usual:
                yield Barrier(variable, what, usual, other, tuple(having))


def _parts(
    files: Sequence[_JoinTerms],
    rules: Sequence[Mapping[tuple[str, str], str]],
    dimension: str | None,
) -> Iterator[list[_JoinTerms]]:
    """Yield groups of files that can be combined, each ordered by coordinate."""
    groups: dict[object, list[_JoinTerms]] = {}
    for file, of_file in zip(files, rules, strict=True):
        groups.setdefault(frozenset(of_file.items()), []).append(file)
    for group in groups.values():
        part: list[_JoinTerms] = []
        for file in sorted(group, key=_order(group, dimension)):
            part.append(file)
            if file.partial(dimension) is not None:
                yield part
                part = []
        if part:
            yield part


def _order(group: Sequence[_JoinTerms], dimension: str | None) -> Callable[[_JoinTerms], float]:
    """Return the sort key of files by coordinate; the given order if one has none."""
    axes = {id(each): each.axis(dimension) for each in group}
    if any(axis is None or not len(axis.kept) for axis in axes.values()):
        return lambda file: 0
    starts = {at: float(a.kept[0]) + a.since for at, a in axes.items() if a is not None}
    return lambda file: starts[id(file)]


def _odd(part: Sequence[_JoinTerms], dimension: str | None) -> Iterator[Finding]:
    """Yield irregularities in the concatenated coordinate of the files."""
    axes = [axis for file in part if (axis := file.axis(dimension)) is not None]
    if len(axes) == len(part) > 1 and sum(len(each.values) for each in axes) <= _VALUES:
        yield from axis_findings(AxisValues.joined(axes), "")


def _era(part: Sequence[_JoinTerms], dimension: str | None) -> Era:
    ends = [part[n].axis(dimension) for n in (0, -1)]
    first, last = (
        None if axis is None or not len(axis.kept) else axis.text(float(axis.kept[-n]))
        for n, axis in enumerate(ends)
    )
    return Era(tuple(file.name for file in part), first, last, part[-1].partial(dimension))


def _digest(axis: AxisValues) -> str:
    """Return a digest of coordinate values, with their first and last."""
    values = axis.values + axis.since
    digest = sha256(values.tobytes()).hexdigest()[:8]
    if not len(axis.kept):
        return "no values"
    ends = axis.text(float(axis.kept[0])), axis.text(float(axis.kept[-1]))
    return f"{len(axis.values):,} from {ends[0]} to {ends[1]} ({digest})"


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # -999 and -999.0 are the same when files are joined
    return "none" if value is None else json.dumps(value, default=str)


def _files_text(names: Sequence[str]) -> str:
    if len(names) <= _NAMED:
        return ", ".join(escape(name, _CHARS) for name in names)
    return f"{len(names):,} files, {escape(names[0], _CHARS)} to {escape(names[-1], _CHARS)}"
