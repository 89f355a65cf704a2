"""What is to be changed in a set, as all of its files together say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.checks.compare.messages_compared import FORM as GRIB
from refexplorer.checks.records import FAILED, FORBIDDEN, UNCOMPARED
from refexplorer.spec.core.zarr_metadata import ArrayMeta

_UNREAD = (UNCOMPARED, FAILED, FORBIDDEN)


@dataclass(frozen=True)
class ArrayClaims:
    """The references that files claim of one array, n of them, by ascending number.

    Attributes
    ----------
    numbers
        Of the chunks, shape ``(n,)``.
    files
        Places in `RepairPlan.urls`, shape ``(n,)``.
    offsets, lengths
        Bytes, shape ``(n,)``.
    """

    numbers: np.ndarray
    files: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True)
class RepairPlan:
    """What is to be changed.

    Attributes
    ----------
    urls
        The files that references are made of, as the set names them.
    claims
        References by array.
    loose
        Chunks by array, and the file, that refer to one that does not have them there: they may be
        replaced by what another file claims.
    absent
        Those of them that the file fills by their place, but never wrote: they are dropped.
    fields
        New values of metadata by array and field.
    reasons
        Why something of an array cannot be made anew, and in how many files.
    """

    urls: tuple[str, ...]
    claims: Mapping[str, ArrayClaims]
    loose: Mapping[str, Mapping[int, str]]
    absent: Mapping[str, frozenset[int]]
    fields: Mapping[str, Mapping[str, Any]]
    reasons: Mapping[tuple[str, str], int]

    def without(self, paths: Collection[str]) -> RepairPlan:
        """Return the plan with some arrays left as they are."""

        def kept(of: Mapping[str, Any]) -> dict[str, Any]:
            return {path: each for path, each in of.items() if path not in paths}

        return replace(
            self,
            claims=kept(self.claims),
            loose=kept(self.loose),
            absent=kept(self.absent),
            fields=kept(self.fields),
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """The arrays that something is to be changed of."""
        return tuple(dict.fromkeys([*self.claims, *self.fields, *self.absent]))


@dataclass
class _OfArray:
    """What the files say of one array."""

    files: set[int] = field(default_factory=set)
    unread: bool = False
    stops: np.ndarray | None = None
    said: dict[str, Counter[str]] = field(default_factory=dict)
    parts: list[tuple[int, list[int], list[int], list[int]]] = field(default_factory=list)
    loose: dict[int, str] = field(default_factory=dict)
    absent: set[int] = field(default_factory=set)


class Planner:
    """Takes in the results of verifying, and makes a plan of them.

    Parameters
    ----------
    arrays
        All arrays of the set, by path.
    odd_shapes
        The arrays whose shape a finding says is wrong.
    """

    def __init__(self, arrays: Mapping[str, ArrayMeta], odd_shapes: Collection[str] = ()) -> None:
        self._arrays, self._odd_shapes = arrays, odd_shapes
        self._known: dict[str, _OfArray] = {path: _OfArray() for path in arrays}
        self._urls: dict[str, int] = {}
        self._reasons: Counter[tuple[str, str]] = Counter()

    def plan(self, results: Iterable[pa.Table]) -> RepairPlan:
        """Return what is to be changed."""
        for table in results:
            for batch in table.to_batches(max_chunksize=1024):
                for row in batch.to_pylist():
                    if row["array"] in self._known:
                        self._take(row, self._known[row["array"]])
        claims = {}
        for path, known in self._known.items():
            if known.parts:
                claims[path] = self._claimed(path, known)
        fields = {path: dict(self._fields(path)) for path in self._known}
        return RepairPlan(
            tuple(self._urls),
            claims,
            {path: known.loose for path, known in self._known.items() if known.loose},
            {path: frozenset(known.absent) for path, known in self._known.items() if known.absent},
            {path: found for path, found in fields.items() if found},
            dict(self._reasons),
        )

    def _take(self, row: Mapping[str, Any], known: _OfArray) -> None:
        made = row["remade"]
        if row["state"] in _UNREAD and row["native"] is None:
            known.unread = True
        if row["native"] is not None and row["message"] is None:
            known.files.add(row["number"])
        is_whole = row["form"] != GRIB  # of messages, those that were compared
        if is_whole and row["start"] is not None and row["shape"] is not None:
            stops = np.array(row["start"], np.int64) + np.array(row["shape"], np.int64)
            known.stops = stops if known.stops is None else np.maximum(known.stops, stops)
        if made is None:
            return
        if made["reason"] is not None:
            self._reasons[row["array"], made["reason"]] += 1
        for cause, value in {(each["cause"], each["value"]) for each in made["said"]}:
            known.said.setdefault(cause, Counter())[value] += 1
        number = self._urls.setdefault(row["target"], len(self._urls))
        if made["chunks"]:
            known.parts.append((number, made["chunks"], made["offsets"], made["lengths"]))
        known.loose |= dict.fromkeys([*made["absent"], *made["stray"]], row["target"])
        known.absent.update(made["absent"])

    def _claimed(self, path: str, known: _OfArray) -> ArrayClaims:
        """Return what files claim; not what two of them do, each with a chunk of its own."""
        numbers, offsets, lengths = (
            np.concatenate([np.array(part[at], np.int64) for part in known.parts])
            for at in (1, 2, 3)
        )
        files = np.concatenate([np.full(len(part[1]), part[0]) for part in known.parts])
        rows = np.unique(np.stack([numbers, files, offsets, lengths]), axis=1)
        found, counts = np.unique(rows[0], return_counts=True)
        if len(twice := found[counts > 1]):
            self._reasons[path, "several files claim the same chunk"] += len(twice)
            rows = rows[:, ~np.isin(rows[0], twice)]
        return ArrayClaims(*rows)

    def _fields(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yield the metadata that all files agree on."""
        known = self._known[path]
        if known.unread or not known.files:
            return
        for cause, values in known.said.items():
            value, count = values.most_common(1)[0]
            if len(values) == 1 and count >= len(known.files):
                yield cause, json.loads(value)
        shape = self._shape(path, known) if path in self._odd_shapes else None
        if shape is not None:
            yield "shape", shape

    def _shape(self, path: str, known: _OfArray) -> list[int] | None:
        """Return another shape, if all files end there and so does another array of the set."""
        meta = self._arrays[path]
        if known.stops is None:
            return None
        found = list(meta.shape)
        for axis, (mine, theirs) in enumerate(zip(meta.shape, known.stops.tolist(), strict=True)):
            if mine != theirs and (len(known.files) == 1 or self._ends_there(meta, axis, theirs)):
                found[axis] = theirs
        return None if found == list(meta.shape) else found

    def _ends_there(self, meta: ArrayMeta, axis: int, length: int) -> bool:
        name = (meta.dimensions or ())[axis : axis + 1]
        folder = meta.path.rpartition("/")[0]
        others = (
            other
            for path, other in self._arrays.items()
            if path != meta.path and path.rpartition("/")[0] == folder and other.dimensions
        )
        return bool(name and name[0]) and any(
            (name[0], length) in zip(other.dimensions or (), other.shape, strict=True)
            for other in others
        )
