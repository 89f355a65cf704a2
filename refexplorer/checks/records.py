"""The results of verifying a part, one row per file and array, and findings over many rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refexplorer.checks.states import FileState, ObjectState
from refexplorer.core.text import (
    ADVICE,
    array_text,
    counted,
    escape,
    file_text,
    file_texts,
    masks_repr,
)
from refexplorer.io.access import shown
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import Finding, pointer
from refexplorer.spec.zarr_metadata import ArrayMeta

SAME, DIFFERS, UNCOMPARED, FAILED = "same", "differs", "not compared", "failed"
FORBIDDEN = "not allowed"
HELD = "held"  # For inline values, which are compared with each file that has them
STATES = (SAME, DIFFERS, UNCOMPARED, FAILED)  # The states of the references to a file

BY_LENGTH = (
    "The file has no format whose metadata could be compared, only the length of one uncompressed "
    "chunk."
)
WHOLE = -1  # The length of a reference to a whole file
NAMED_KEYS = 10  # Keys that a finding of one file names


@dataclass
class FileDifference:
    """The difference between one file and array."""

    cause: str
    ours: str | None = None
    theirs: str | None = None
    message: str | None = None
    count: int = 1
    keys: list[str] = field(default_factory=list)
    # Of values: the largest difference with its key, and how many the set reads as missing, or as
    # data though missing in the file
    largest: float | None = None
    largest_at: str | None = None
    lost: int = 0
    gained: int = 0

    @classmethod
    def of_chunks(
        cls, cause: str, meta: ArrayMeta, numbers: np.ndarray, message: str | None = None
    ) -> FileDifference:
        """Return what is wrong with chunks of an array, by number; the first are named."""
        return cls(cause, None, None, message, len(numbers), first_keys(meta, numbers))


def first_keys(meta: ArrayMeta, numbers: np.ndarray) -> list[str]:
    """Return the first keys of chunks by number, as named in findings."""
    return [meta.key_at(number) for number in numbers[numbers >= 0][:NAMED_KEYS].tolist()]


class FileValue(NamedTuple):
    """The file's value of a differing field."""

    cause: str  # The field, a code of `refexplorer.spec.codes`
    value: str  # JSON; null removes an attribute


@dataclass
class Remade:
    """The correct contents of an array of the set, according to a file."""

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


@masks_repr
@dataclass
class Record:
    """The result for the references of one array to one file: a row of `RESULTS`."""

    number: int
    target: str | None
    array: str | None
    native: str | None = None
    form: str | None = None
    state: str = SAME
    file: str = FileState.READ  # The state of the file
    references: int = 0
    same: int = 0
    differs: int = 0
    uncompared: int = 0
    failed: int = 0
    chunks: bytes = b""  # The numbers of referenced chunks in the grid, int64
    states: bytes = b""  # Theirs in the ledger, a byte each
    message: str | None = None
    # start, shape: Where the file's array starts in the set's, and its shape in those dimensions
    start: list[int] | None = None
    shape: list[int] | None = None
    findings: list[FileDifference] = field(default_factory=list)
    # How many chunks are at the right position, decode, and have values that were compared, though
    # their state does not say so: it is that of a fault
    seen: list[int] = field(default_factory=lambda: [0, 0, 0])
    differing: bytes | None = None  # Inline chunks with other values, int64; None: all of them
    lacking: bytes = b""  # The chunks of the file that no reference of the part is of, int64
    # Whether both fill chunks that were never written with one value
    is_filled_alike: bool | None = None
    # The units of the set and of the file where they differ, although the values agree, as zeros do
    other_units: list[str] = field(default_factory=list)
    objects: str | None = None  # `FileObjects`, in the first row of the file
    unchecked: list[str] = field(default_factory=list)  # What of the metadata was not compared
    axis: list[float] | None = None  # The values of a coordinate, and where its references put them
    axis_start: int | None = None
    # values, largest, false_nan: Values that were compared, the largest difference, and how many
    # are NaN through the set only
    values: int = 0
    largest: float | None = None
    largest_at: str | None = None
    false_nan: int = 0
    grant: str | None = None
    remade: Remade | None = None  # What a repair uses from the file, if requested


_NUMBERS, _TEXTS = pa.list_(pa.int64()), pa.list_(pa.string())
_KINDS = {
    "int": pa.int64(), "str": pa.string(), "bytes": pa.binary(), "bool": pa.bool_(),
    "float": pa.float64(), "list[int]": _NUMBERS, "list[str]": _TEXTS,
    "list[float]": pa.list_(pa.float64()),
}  # fmt: skip
_KINDS["list[FileValue]"] = pa.list_(pa.struct({"cause": pa.string(), "value": pa.string()}))
_REPEATED = {"target", "array", "state", "file", "objects"}


def _columns(of: type) -> dict[str, pa.DataType]:
    return {each.name: _KINDS[str(each.type).removesuffix(" | None")] for each in fields(of)}


_KINDS["list[FileDifference]"] = pa.list_(pa.struct(_columns(FileDifference)))
_KINDS["Remade"] = pa.struct(_columns(Remade))
RESULTS = pa.schema(
    {
        name: pa.dictionary(pa.int32(), kind) if name in _REPEATED else kind
        for name, kind in _columns(Record).items()
    }
)  # What a part gives, with the fields of `Record`


def numbers_bytes(numbers: np.ndarray) -> bytes:
    """Return chunk numbers as stored in a table."""
    return numbers.astype("<i8").tobytes()


def numbers_of(data: bytes | None) -> np.ndarray:
    """Return chunk numbers stored in a table, shape ``(n,)`` int64."""
    return np.frombuffer(data or b"", "<i8").astype(np.int64, copy=False)


class ObjectRow(NamedTuple):
    """A file object: its name, its state in the set, and why, or the array for LACKING."""

    name: str
    state: ObjectState
    note: str = ""


class FileObjects(NamedTuple):
    """The number of objects declared in the headers of a file, and the objects found."""

    declared: int
    rows: list[ObjectRow]

    def text(self) -> str:
        """Return it as table text; identical files share the same text."""
        return json.dumps(self)

    @classmethod
    def parse(cls, text: str) -> FileObjects:
        """Return the object that `text` was made from."""
        declared, rows = json.loads(text)
        return cls(declared, [ObjectRow(n, ObjectState(state), note) for n, state, note in rows])


def table(records: Sequence[Record]) -> pa.Table:
    """Return records as a table."""

    def column(name: str) -> list[Any]:
        if name == "findings":
            return [[vars(found) for found in each.findings] for each in records]
        if name == "remade":
            made = [each.remade for each in records]
            return [m and vars(m) | {"said": [v._asdict() for v in m.said]} for m in made]
        return [getattr(each, name) for each in records]

    arrays = []
    for each in RESULTS:
        kind = each.type.value_type if pa.types.is_dictionary(each.type) else each.type
        plain = pa.array(column(each.name), kind)
        arrays.append(plain.dictionary_encode() if kind is not each.type else plain)
    return pa.Table.from_arrays(arrays, schema=RESULTS)


# groups that keep their own values; later ones are counted under their cause alone
KEPT_FINDINGS = 10_000
KEPT_REASONS = 1_000  # Beyond it they are counted together
NAMED_FILES = 20  # Files that a finding names
_SHOWN_FILES = 5
_CHARS = 400  # characters of text from a file, which may be long
_SINGULAR = {"have": "has", "are": "is", "cannot": "cannot", "may": "may"}
_PHRASES = {
    "range-past-end": ("reaches past the end of", "reach past the end of"),
    "overlapping-ranges": ("partly overlaps another one of", "partly overlap others of"),
}  # What ranges do with their files, one of them and several
_OF_ZARRAY = {
    "dtype", "byte-order", "rank", "shape", "ragged", "chunk-shape", "order", "filters",
    "fill_value", "lacking-object",
}  # fmt: skip
"""What is in ``.zarray``; the rest in ``.zattrs``."""


class CauseKey(NamedTuple):
    """What grouped findings have in common."""

    code: str
    path: str | None  # The array; None: keys outside arrays
    # ours, theirs: What the set and the file say
    ours: str | None
    theirs: str | None
    number: int | None  # The file, if each has a separate finding


@dataclass
class FindingGroup:
    """What is known about one cause."""

    message: str | None = None
    references: int = 0
    keys: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    file_count: int = 0
    last: int | None = None
    largest: float | None = None
    largest_at: str | None = None
    lost: int = 0
    gained: int = 0


class FindingGroups:
    """The findings of a run grouped by cause."""

    def __init__(self, arrays: Mapping[str, ArrayMeta], base: str) -> None:
        self._arrays, self._base = arrays, base
        self._groups: dict[CauseKey, FindingGroup] = {}

    def note(
        self,
        path: str | None,
        number: int,
        url: str | None,
        found: FileDifference,
        is_apart: bool = False,
    ) -> FindingGroup:
        """Add a finding about one array and file; not grouped if requested."""
        of = number if is_apart else None
        key = CauseKey(found.cause, path, found.ours, found.theirs, of)
        if key not in self._groups and len(self._groups) >= KEPT_FINDINGS:
            key = CauseKey(found.cause, path, None, None, None)
        group = self._groups.setdefault(key, FindingGroup(found.message))
        group.references += found.count
        group.lost += found.lost
        group.gained += found.gained
        if found.largest is not None and found.largest > (group.largest or 0):
            group.largest, group.largest_at = found.largest, found.largest_at
        group.keys += found.keys[: NAMED_KEYS - len(group.keys)]
        if group.last != number:
            group.last = number
            group.file_count += 1
            if len(group.files) < NAMED_FILES and url:
                group.files.append(url)
        return group

    def has(self, code: str, path: str) -> bool:
        """Return whether there is a finding with a code and an array."""
        return any(key[:2] == (code, path) for key in self._groups)

    def drop_doubtful(self, code: str) -> None:
        """Drop the findings with a code about arrays in which something else is wrong."""
        wrong = {
            key.path
            for key in self._groups
            if key.code != code and CODES[key.code].severity is Severity.ERROR
        }
        self._groups = {
            key: group
            for key, group in self._groups.items()
            if key.code != code or key.path not in wrong
        }

    def findings(
        self, n_files: Callable[[str], int], apart: Collection[str] = ()
    ) -> Iterator[Finding]:
        """Yield the groups; `n_files` counts the files of an array, except for codes in `apart`."""
        for key, group in self._groups.items():
            path = key.path or ""
            is_range = key.code in _PHRASES
            of = group.file_count if key.path is None else max(n_files(path), group.file_count)
            if key.path is not None and key.code in apart:
                of = n_files(path) + group.file_count
            message = _range_text(key, group) if is_range else _text(key, group, of)
            first = group.keys[0] if group.keys else self._metadata_key(path, key.code)
            yield Finding(
                key.code, CODES[key.code].severity, self._base + pointer(first or ""), message,
                key=first, array=path, keys=tuple(group.keys),
                reference_count=group.references or None, files=tuple(group.files),
                file_count=group.file_count, ours=key.ours, theirs=key.theirs,
            )  # fmt: skip

    def _metadata_key(self, path: str, code: str) -> str | None:
        if path not in self._arrays:
            return None
        meta = self._arrays[path]
        is_attribute = meta.zarr_format == 2 and code not in _OF_ZARRAY
        return meta.folder + ".zattrs" if is_attribute else meta.metadata_key


def _range_text(key: CauseKey, group: FindingGroup) -> str:
    """Return the sentence on wrong ranges within files."""
    one, many = _PHRASES[key.code]
    ranges = counted(group.references, f"range {one}", f"ranges {many}")
    files = file_text(group.files[0]) if len(group.files) == group.file_count == 1 else (
        counted(group.file_count, "file"))  # fmt: skip
    size = f", {group.message}" if group.message and key.number is not None else ""
    such = "" if group.references == 1 else "such as "
    key_text = escape(group.keys[0], _CHARS)
    where = "" if key.path is None else f"{array_text(key.path)}: "
    return f"{where}{ranges} {files}{size} ({such}{key_text})"


def _text(key: CauseKey, group: FindingGroup, of: int) -> str:
    """Return the sentence on what files contain."""
    files, count = group.files, group.file_count
    said = without_advice(group.message or "", files)
    if key.code == "values":
        said = _values_text(group)
    if key.code == "masked" and group.lost:
        said = f"{counted(group.lost, 'value')} {said}"
    if key.theirs is not None:
        said = f"{key.code.replace('-', ' ')} {key.theirs}, the set says {key.ours}"
    if group.keys and not any(name in said for name in group.keys):
        first = group.keys[0] if group.references == 1 else f"such as {group.keys[0]}"
        said = f"{first}: {said}" if said else first
    elif group.keys and group.references > 1:
        said += f", and {counted(group.references - 1, 'more chunk')}"
    verb, _, rest = CODES[key.code].predicate.partition(" ")
    which = counted(count, "file") if of <= 1 else f"{count:,} of {counted(of, 'file')}"
    verb = _SINGULAR.get(verb, verb + "s") if count == 1 else verb
    inside = f" ({escape(said, _CHARS)})" if said else ""
    names = ", ".join(file_texts(files[:_SHOWN_FILES]))
    more = ", …" if count > min(len(files), _SHOWN_FILES) else ""
    where = "Keys of no array" if key.path is None else array_text(key.path)
    found = f"{where}: {which} {verb} {rest}{inside}"
    return f"{found}: {names}{more}" if names else found


def _values_text(group: FindingGroup) -> str:
    """Return how the values of all files of a group differ."""
    whose = "the file" if group.file_count == 1 else "the files"
    parts = []
    if group.largest:
        parts.append(f"differ by up to {group.largest:.10g} ({group.largest_at})")
    if group.lost:
        parts.append(f"{counted(group.lost, 'value')} of {whose} read as missing")
    if group.gained:
        parts.append(f"{counted(group.gained, 'missing value')} of {whose} read as data")
    return " and ".join(parts) or "differ"


def without_advice(message: str, files: Sequence[str] = ()) -> str:
    """Return why a file cannot be read, without its name and without advice."""
    reason = message.partition(ADVICE)[0].rstrip(".")
    for url in files[:1]:
        reason = reason.removeprefix(f"The metadata could not be read from {shown(url)}: ")
    return reason


class Reasons:
    """Why references were not checked, by array; and why files could not be read."""

    def __init__(self) -> None:
        self.unchecked: Counter[tuple[str, str]] = Counter()  # What of an array, in how many files
        self._counts: Counter[tuple[str | None, str]] = Counter()
        self._failures: dict[str, str] = {}
        self._grants: dict[str, None] = {}

    def add(self, path: str | None, reason: str, count: int) -> None:
        """Count references with a reason."""
        if len(self._counts) >= KEPT_REASONS and (path, reason) not in self._counts:
            reason = "Other reasons."
        self._counts[path, reason] += count

    def forbid(self, path: str | None, grant: str | None, message: str, count: int) -> None:
        """Count references to a file that may not be read; keep what would allow it."""
        if grant and len(self._grants) < NAMED_FILES:
            self._grants[grant] = None
        self.add(path, "The file is not allowed yet." if grant else message, count)

    def fail(self, url: str | None, message: str) -> None:
        """Keep the reason why a file cannot be read."""
        if url is not None and len(self._failures) < KEPT_REASONS:
            self._failures.setdefault(url, message)

    def as_counts(self) -> dict[str, Any]:
        """Return the reasons as fields of `Counts`, the most frequent first."""
        counts = sorted(self._counts.items(), key=lambda item: -item[1])
        return {
            "reasons": tuple((*of, n) for of, n in counts),
            "unchecked": tuple((*what, n) for what, n in self.unchecked.items()),
            "failures": self._failures,
            "grants": tuple(self._grants),
        }
