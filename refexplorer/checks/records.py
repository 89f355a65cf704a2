"""The table that verifying a part gives: a row for each file and array."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refexplorer.checks.states import FileState, ObjectState
from refexplorer.core.text import masks_repr

SAME, DIFFERS, UNCOMPARED, FAILED = "same", "differs", "not compared", "failed"
FORBIDDEN = "not allowed"
HELD = "held"
"""Of what the set itself holds, which is compared with each file that has it."""
STATES = (SAME, DIFFERS, UNCOMPARED, FAILED)
"""The states of the references to a file."""

WHOLE = -1
"""The length of a reference to a whole file."""
NAMED_KEYS = 10
"""Keys that a finding of one file names."""

FINDING = pa.struct(
    {
        "cause": pa.string(),
        "ours": pa.string(),
        "theirs": pa.string(),
        "message": pa.string(),
        "count": pa.int64(),
        "keys": pa.list_(pa.string()),
    }
)
AXIS = pa.struct(
    {
        "first": pa.float64(),
        "last": pa.float64(),
        "least": pa.float64(),
        "most": pa.float64(),
        "count": pa.int64(),
    }
)
"""A coordinate: its first and last value, the least and the largest step, how many values."""
REMADE = pa.struct(
    {
        "said": pa.list_(pa.struct({"cause": pa.string(), "value": pa.string()})),
        "chunks": pa.list_(pa.int64()),
        "offsets": pa.list_(pa.int64()),
        "lengths": pa.list_(pa.int64()),
        "start": pa.list_(pa.int64()),
        "shape": pa.list_(pa.int64()),
        "reason": pa.string(),
    }
)
"""See `Remade`."""
RESULTS = pa.schema(
    {
        "number": pa.int64(),
        "target": pa.dictionary(pa.int32(), pa.string()),
        "array": pa.dictionary(pa.int32(), pa.string()),
        "native": pa.string(),
        "form": pa.string(),
        "state": pa.dictionary(pa.int32(), pa.string()),
        "file": pa.dictionary(pa.int32(), pa.string()),
        "references": pa.int64(),
        "same": pa.int64(),
        "differs": pa.int64(),
        "uncompared": pa.int64(),
        "failed": pa.int64(),
        "chunks": pa.binary(),
        "states": pa.binary(),
        "message": pa.string(),
        "start": pa.list_(pa.int64()),
        "shape": pa.list_(pa.int64()),
        "findings": pa.list_(FINDING),
        "lacking": pa.binary(),
        "is_filled_alike": pa.bool_(),
        "objects": pa.dictionary(pa.int32(), pa.string()),
        "unchecked": pa.list_(pa.string()),
        "axis": AXIS,
        "values": pa.int64(),
        "largest": pa.float64(),
        "largest_at": pa.string(),
        "false_nan": pa.int64(),
        "grant": pa.string(),
        "remade": REMADE,
    }
)
"""``chunks`` are the numbers of referenced chunks in the grid, int64 as bytes, ``states`` theirs in
the ledger, a byte each; ``file`` is that of the file; ``start`` is where the file's array starts
in the set's, ``shape`` its shape in the dimensions of the set's; ``lacking`` are the chunks of the
file, int64 as bytes, that no reference of the part is of; ``is_filled_alike`` tells whether both
fill chunks that were never written with one value; ``objects`` is what the file holds, as
`FileObjects` has it, in its first row; ``unchecked`` what of the metadata was not compared;
``values`` those that were compared, with the largest difference and how many are NaN through the
set only; ``remade`` what a repair takes from the file, if that was asked for."""


@dataclass
class FileDifference:
    """What differs of one file and array."""

    cause: str
    ours: str | None = None
    theirs: str | None = None
    message: str | None = None
    count: int = 1
    keys: list[str] = field(default_factory=list)


class FileValue(NamedTuple):
    """What a file says of a field that differs."""

    cause: str  # The field, a code of `refexplorer.spec.codes`
    value: str  # JSON; null removes an attribute


@dataclass
class Remade:
    """What a set should have of a file, where what it has of one array is wrong."""

    said: list[FileValue] = field(default_factory=list)  # Metadata of the file
    # chunks, offsets, lengths: References of chunks, by their numbers; `WHOLE` is the length of a
    # whole file
    chunks: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    # start, shape: Where the file's array certainly starts in the set's, and its shape in those
    # dimensions
    start: list[int] | None = None
    shape: list[int] | None = None
    reason: str | None = None  # Why references cannot be made

    def as_row(self) -> dict[str, Any]:
        """Return it as `REMADE` has it."""
        return vars(self) | {"said": [each._asdict() for each in self.said]}


@masks_repr
@dataclass
class Record:
    """A row of `RESULTS`."""

    number: int
    target: str | None
    array: str | None
    native: str | None = None
    form: str | None = None
    state: str = SAME
    file: str = FileState.READ
    references: int = 0
    same: int = 0
    differs: int = 0
    uncompared: int = 0
    failed: int = 0
    chunks: bytes = b""
    states: bytes = b""
    message: str | None = None
    start: list[int] | None = None
    shape: list[int] | None = None
    findings: list[FileDifference] = field(default_factory=list)
    lacking: bytes = b""
    is_filled_alike: bool | None = None
    objects: str | None = None
    unchecked: list[str] = field(default_factory=list)
    axis: dict[str, float | int] | None = None
    values: int = 0
    largest: float | None = None
    largest_at: str | None = None
    false_nan: int = 0
    grant: str | None = None
    remade: Remade | None = None


def numbers_bytes(numbers: np.ndarray) -> bytes:
    """Return numbers of chunks as a table keeps them."""
    return numbers.astype("<i8").tobytes()


def numbers_of(data: bytes | None) -> np.ndarray:
    """Return numbers of chunks that a table keeps, shape ``(n,)`` int64."""
    return np.frombuffer(data or b"", "<i8").astype(np.int64, copy=False)


class ObjectRow(NamedTuple):
    """An object of a file: its name, what the set has of it, and why, or the array for LACKING."""

    name: str
    state: ObjectState
    note: str = ""


class FileObjects(NamedTuple):
    """How many objects the headers of a file declare, and those that were found."""

    declared: int
    rows: list[ObjectRow]

    def text(self) -> str:
        """Return it as a table keeps it; files that are alike have one text."""
        return json.dumps(self)

    @classmethod
    def parse(cls, text: str) -> FileObjects:
        """Return what `text` was made of."""
        declared, rows = json.loads(text)
        return cls(declared, [ObjectRow(n, ObjectState(state), note) for n, state, note in rows])


def table(records: Sequence[Record]) -> pa.Table:
    """Return records as a table."""

    def column(name: str) -> list[Any]:
        if name == "findings":
            return [[vars(found) for found in each.findings] for each in records]
        if name == "remade":
            return [each.remade and each.remade.as_row() for each in records]
        return [getattr(each, name) for each in records]

    arrays = []
    for each in RESULTS:
        kind = each.type.value_type if pa.types.is_dictionary(each.type) else each.type
        plain = pa.array(column(each.name), kind)
        arrays.append(plain.dictionary_encode() if kind is not each.type else plain)
    return pa.Table.from_arrays(arrays, schema=RESULTS)
