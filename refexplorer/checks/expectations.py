"""The expectations of a publisher, in a TOML file: axes, arrays, and files that must be there.

[axes.time]
from = "2020-01-01"
until = "now-12h"
step = "6h"

[arrays.sst]
dimensions = ["time", "lat", "lon"]
missing-chunks = 0.01
missing-values = 0.4
min = -2
max = 40

[files]
patterns = ["data/*.nc"]
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import gt, lt
from pathlib import Path
from typing import Any

import numpy as np

from refexplorer.checks.axes import AxisValues, CheckedAxis
from refexplorer.checks.expected_values import ValueRange
from refexplorer.core.errors import RefexplorerError, SourceError
from refexplorer.core.text import array_text, counted, escape, file_text
from refexplorer.formats.other_files import fitting
from refexplorer.formats.source import cause
from refexplorer.io.access import Options, parse, protocol_of, resolve
from refexplorer.spec.codes import CODES
from refexplorer.spec.findings import Finding, pointer, suggest
from refexplorer.spec.zarr_metadata import ArrayMeta

TEXT, TEXTS, FLAG = "text", "a list of texts", "true or false"
_NUMBER, _END = "a number", "a date, a number or now-12h"
_STEP = "a number, or a time such as 6h or 1 month"
_KEYS = {
    "axes": {"from": _END, "until": _END, "step": _STEP, "gaps": FLAG, "min": _NUMBER,
             "max": _NUMBER},
    "arrays": {"dimensions": TEXTS, "dtype": TEXT, "units": TEXT, "missing-chunks": _NUMBER,
               "missing-values": _NUMBER, "min": _NUMBER, "max": _NUMBER},
    "files": {"patterns": TEXTS},
}  # fmt: skip
"""The tables of a file, and the keys of each with what they have to be."""
_OF_VALUES = {"missing-values", "min", "max"}
_HAS = {
    TEXT: lambda value: isinstance(value, str),
    TEXTS: lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    _NUMBER: lambda value: _is_number(value),
    FLAG: lambda value: isinstance(value, bool),
    _END: lambda value: _is_number(value) or (isinstance(value, str) and _is_end(value)),
    _STEP: lambda value: _is_number(value) or (isinstance(value, str) and bool(_parsed(value))),
}
_NOW = re.compile(r"now(?:\s*([-+])\s*(.+))?")
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_SECONDS = {"s": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600,
            "d": 86400, "day": 86400, "w": 604800, "week": 604800}  # fmt: skip
_MONTHS = {"month": 1, "year": 12}
_SAME = 0.01  # how much a step may differ, of its length
_NAMED = 3
_BYTES = 2**20  # A longer expectations file is not read


@dataclass(frozen=True)
class CheckedFacts:
    """The facts that expectations are compared with."""

    arrays: Mapping[str, ArrayMeta]
    axes: Mapping[str, CheckedAxis]
    values: Mapping[str, AxisValues]  # Of the coordinates that were read
    missing: Callable[[str], int]  # How many chunks of an array have no reference
    values_of: Callable[[str], ValueRange]  # Reads an array, as far as it may be read
    targets: Callable[[], Iterable[str]]  # All targets, as absolute paths and URLs
    listing: Callable[[str], Sequence[str]]  # The files that match a pattern, in the same form


@dataclass
class Expectations:
    """The expectations read from a file."""

    name: str
    axes: dict[str, dict[str, Any]] = field(default_factory=dict)
    arrays: dict[str, dict[str, Any]] = field(default_factory=dict)
    patterns: list[str] = field(default_factory=list)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    unknown: list[str] = field(default_factory=list)
    """What is unknown, in words that follow "not known:"."""

    @classmethod
    def read(cls, path: Path) -> Expectations:
        """Read an expectations file."""
        name = escape(path.name)
        tables = read_toml(path, name)
        found = cls(name)
        for table, content in tables.items():
            _check_key(name, table, _KEYS)
            if not isinstance(content, dict):
                raise SourceError(f"[{table}] of {name} must be a table.")
            if table == "files":
                check_keys(f"[{table}] of {name}", content, _KEYS[table])
                found.patterns = content.get("patterns", [])
                continue
            for path_of, keys in content.items():
                place = f"[{escape(f'{table}.{path_of}', 100)}] of {name}"
                if not isinstance(keys, dict):
                    raise SourceError(f"{place} must be a table.")
                check_keys(place, keys, _KEYS[table])
            getattr(found, table).update(content)
        return found

    def findings(self, facts: CheckedFacts, base: str) -> Iterator[Finding]:
        """Yield deviations from the expectations; `base` is the prefix of JSON pointers."""
        for path, wanted in self.arrays.items():
            for code, sentence in self._of_array(path, wanted, facts):
                yield _finding(code, path, sentence, base)
        for path, wanted in self.axes.items():
            for code, sentence in self._of_axis(path, wanted, facts):
                yield _finding(code, path, sentence, base)
        yield from self._of_files(facts, base)

    def _of_array(
        self, path: str, wanted: Mapping[str, Any], facts: CheckedFacts
    ) -> Iterator[tuple[str, str]]:
        meta, name = facts.arrays.get(path), array_text(path)
        if meta is None:
            yield "expected-array", f"{name} is not in the set"
            return
        found = {
            "dimensions": [*(meta.dimensions or ())],
            "dtype": str(_dtype(meta)),
            "units": meta.attributes.get("units"),
        }
        for key, value in found.items():
            if key in wanted and value != wanted[key]:
                said = f"{name} has {key} {_shown(value)}, expected: {_shown(wanted[key])}"
                yield "expected-array", said
        limit = wanted.get("missing-chunks")
        n_missing = facts.missing(path) if limit is not None else 0
        share = n_missing / max(meta.chunk_count, 1)
        if limit is not None and share > limit:
            of = f"{n_missing:,} of {counted(meta.chunk_count, 'chunk')} ({share:.2%})"
            said = f"{name}: {of} have no reference, expected: at most {limit:.2%}"
            yield "expected-share", said
        if _OF_VALUES & wanted.keys():
            yield from self._of_data(name, wanted, facts.values_of(path))

    def _of_data(
        self, name: str, wanted: Mapping[str, Any], found: ValueRange
    ) -> Iterator[tuple[str, str]]:
        """Compare the values of an array; a deviation counts even if not all values were read."""
        if found.unknown:
            self.unknown.append(f"whether the values of {name} are as expected ({found.unknown})")
        limit = wanted.get("missing-values")
        if limit is not None and found.size and (share := found.missing / found.size) > limit:
            of = f"{found.missing:,} of {counted(found.size, 'value')} ({share:.2%})"
            yield "expected-share", f"{name}: {of} are missing, expected: at most {limit:.2%}"
        ends = (
            ("min", found.least, found.least_at, lt), ("max", found.largest, found.largest_at, gt),
        )  # fmt: skip
        for key, value, place, is_beyond in ends:
            if key in wanted and value is not None and is_beyond(value, wanted[key]):
                said = f"{name} has {value:g} at {list(place)}, beyond the expected {key}"
                yield "expected-values", f"{said} {wanted[key]:g}"

    def _of_axis(
        self, path: str, wanted: Mapping[str, Any], facts: CheckedFacts
    ) -> Iterator[tuple[str, str]]:
        axis, values = facts.axes.get(path), facts.values.get(path)
        if path not in facts.arrays:
            yield "expected-axis", f"{array_text(path)} is not in the set"
        elif axis is None:
            yield "expected-axis", f"{array_text(path)} is not the coordinate of a dimension"
        elif values is None or not len(values.kept):
            why = (axis.why or "it has no values").rstrip(".")
            self.unknown.append(f"whether {array_text(path)} is as expected ({why})")
        else:
            with np.errstate(all="ignore"):  # a file may hold any number
                yield from list(self._of_values(path, wanted, values))

    def _of_values(
        self, path: str, wanted: Mapping[str, Any], values: AxisValues
    ) -> Iterator[tuple[str, str]]:
        kept, name = values.kept, array_text(path)
        ends = ("from", float(kept.min()), "begins"), ("until", float(kept.max()), "ends")
        for key, mine, verb in ends:
            if key not in wanted:
                continue
            end = self._number(wanted[key], values)
            if end is None:
                self.unknown.append(f"whether {name} {verb} as expected (it has no such dates)")
            elif (mine > end) if key == "from" else (mine < end):
                code = "not-current" if key == "until" else "expected-axis"
                word = "later" if key == "from" else "earlier"
                said = f"{name} {verb} at {values.text(mine)}, {word} than expected"
                yield code, f"{said}: {values.text(end)}"
        limits = ("min", float(kept.min()), lt), ("max", float(kept.max()), gt)
        for key, mine, is_beyond in limits:
            if key in wanted and is_beyond(mine, wanted[key]):
                said = f"{name} has {values.text(mine)}, beyond the expected {key} {wanted[key]:g}"
                yield "expected-axis", said
        if "step" in wanted:
            yield from _of_steps(name, wanted, values)
        elif wanted.get("gaps") is False and values.is_uneven:
            yield "expected-axis", f"{name} has gaps, or no even step"

    def _number(self, end: Any, values: AxisValues) -> float | None:
        """Return a bound as a value of an axis; None if it has no dates."""
        if not isinstance(end, str):
            return float(end)
        if (found := _NOW.fullmatch(end)) is None:
            return values.number_of(end)
        moment = self.now
        if found[1]:
            length, unit = _parsed(found[2]) or (0, "second")
            seconds = length * (1 if unit == "second" else 30 * 86_400)
            moment += timedelta(seconds=-seconds if found[1] == "-" else seconds)
        return values.number_of(moment.replace(tzinfo=None).isoformat(timespec="seconds"))

    def _of_files(self, facts: CheckedFacts, base: str) -> Iterator[Finding]:
        targets: set[str] | None = None
        for pattern in self.patterns:
            try:
                files = facts.listing(pattern)
            except RefexplorerError as error:
                sentence = escape(str(error), 200).rstrip(".")
                self.unknown.append(f"whether all files of a folder are there ({sentence})")
                continue
            targets = set(facts.targets()) if targets is None else targets
            lacking = [each for each in files if each not in targets]
            if lacking:
                names = ", ".join(map(file_text, lacking[:_NAMED]))
                more = ", …" if len(lacking) > _NAMED else ""
                message = (
                    f"{len(lacking):,} of {counted(len(files), 'file')} that match "
                    f"{escape(pattern, 200)!r} are not in the set: {names}{more}"
                )
                code = "expected-file"
                yield Finding(
                    code, CODES[code].severity, base, message, files=tuple(lacking[:10]),
                    file_count=len(lacking),
                )  # fmt: skip


def _of_steps(
    name: str, wanted: Mapping[str, Any], values: AxisValues
) -> Iterator[tuple[str, str]]:
    """Yield deviations from the expected step; longer ones may be allowed."""
    step = wanted["step"]
    length, unit = (float(step), "") if _is_number(step) else (_parsed(step) or (0.0, ""))
    text = f"{step:g}" if _is_number(step) else step
    if unit == "month":
        numbers = values.month_numbers()
        steps = None if numbers is None else np.diff(numbers)
    else:
        steps = values.steps if (unit == "second") == values.is_time else None
    if steps is None:
        yield "expected-axis", f"{name} has no steps of {text}: its units are different"
        return
    ahead = steps * (np.sign(np.median(steps)) or 1) if len(steps) else steps
    parts = ahead / length
    is_right = np.abs(parts - 1) <= _SAME
    if wanted.get("gaps") is True:
        is_right |= (parts > 1) & (np.abs(parts - np.round(parts)) <= _SAME * parts)
    wrong = np.flatnonzero(~is_right)
    if len(wrong):
        first = "; ".join(values.between(n) for n in wrong[:_NAMED].tolist())
        more = ", …" if len(wrong) > _NAMED else ""
        verb = "step is" if len(wrong) == 1 else "steps are"
        yield "expected-axis", f"{name}: {len(wrong):,} {verb} not {text}: {first}{more}"


def files_fitting(pattern: str, location: str | None, options: Mapping[str, Any]) -> Sequence[str]:
    """Return the files that match a pattern, as absolute paths or URLs."""
    full = resolve(pattern, location)
    if protocol_of(full) in (None, "file"):
        return [plain_path(str(path)) for path in fitting(full.removeprefix("file://"))]
    import fsspec

    try:
        place = parse(full)
        files, path = fsspec.url_to_fs(full, **Options(options, location).of(place)[1])
        found = [files.unstrip_protocol(name) for name in sorted(files.glob(path))]
    except Exception as error:  # file systems raise what they like
        raise SourceError(f"{escape(pattern, 200)!r} cannot be listed: {cause(error)}.") from None
    if not found:
        raise SourceError(f"No file matches {escape(pattern, 200)!r}.")
    return found


def plain_path(url: str, location: str | None = None) -> str:
    """Return an absolute URL, or a normalized path."""
    url = resolve(url, location)
    if protocol_of(url) not in (None, "file"):
        return url
    return os.path.normpath(url.removeprefix("file://"))


def _dtype(meta: ArrayMeta) -> object:
    try:
        return np.dtype(meta.dtype).name
    except TypeError:
        return meta.dtype


def _finding(code: str, path: str, message: str, base: str) -> Finding:
    return Finding(code, CODES[code].severity, base + pointer(path), message, array=path)


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else escape(str(value), 100)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _parsed(text: str) -> tuple[float, str] | None:
    """Parse ``"6h"`` as seconds, ``"1 month"`` as months; None if invalid."""
    found = _TIME.fullmatch(text.strip().lower())
    if found is None or not float(found[1]):
        return None
    word = found[2] if found[2] in _SECONDS else found[2].removesuffix("s")
    if word in _SECONDS:
        return float(found[1]) * _SECONDS[word], "second"
    return (float(found[1]) * _MONTHS[word], "month") if word in _MONTHS else None


def _is_end(text: str) -> bool:
    found = _NOW.fullmatch(text)
    if found is not None:
        return found[1] is None or _parsed(found[2]) is not None
    try:
        return not np.isnat(np.datetime64(text))
    except ValueError:
        return False


def read_toml(path: Path, name: str) -> dict[str, Any]:
    """Read a file of settings or expectations."""
    try:
        with path.open("rb") as file:
            data = file.read(_BYTES + 1)
        if len(data) > _BYTES:
            raise SourceError(
                f"{name} has more than {_BYTES:,} bytes, too many for a settings file."
            )
        return tomllib.loads(data.decode())
    except OSError as error:
        raise SourceError(f"{name} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise SourceError(f"{name} is not TOML: {escape(str(error), 200)}.") from None


def _check_key(place: str, key: str, known: Mapping[str, Any]) -> None:
    if key not in known:
        hint = suggest(key, known) or f"It may have {', '.join(known)}."
        raise SourceError(f"{place} has the unknown key {escape(key, 100)!r}. {hint}")


def check_keys(place: str, content: Mapping[str, Any], kinds: Mapping[str, str]) -> None:
    """Raise an error for an unknown key, or a value of the wrong type."""
    for key, value in content.items():
        _check_key(place, key, kinds)
        if not _HAS[kinds[key]](value):
            shown = escape(str(value), 100)
            raise SourceError(f"{key} of {place} must be {kinds[key]}; it is {shown!r}.")
