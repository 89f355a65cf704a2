"""Faults of the set itself: rules that need codecs or values, and key states."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.checks.geozarr import lint_geozarr
from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.core.text import counted, escape
from refexplorer.formats.columns.references import BASE64, Columns
from refexplorer.formats.documents import locator_of, note_encoding
from refexplorer.formats.source import LeftOut, Source
from refexplorer.io.decode.codecs import is_installed, missing, refuse_unsafe, require_codecs
from refexplorer.io.decode.sizes import POINTER, is_bounded, region
from refexplorer.io.decode.steps import VALUES, error_text, steps
from refexplorer.readers.comparing import note_readers
from refexplorer.readers.features import ColumnFeatures, features_of
from refexplorer.refset.lint import lint
from refexplorer.refset.lint_arrays import attributes_of
from refexplorer.refset.opened_set import Internals, OpenedSet
from refexplorer.refset.segments import Segment
from refexplorer.spec.codes import CODES, Severity
from refexplorer.spec.findings import Finding, Findings, pointer, suggest
from refexplorer.spec.lint_metadata import lint_metadata_text, may_be_a_value, numpy_dtype
from refexplorer.spec.references import Base64, Inline
from refexplorer.spec.zarr_metadata import ArrayMeta, is_metadata

if TYPE_CHECKING:
    from refexplorer.formats.icechunk.facts import RepositoryFacts

_KNOWN: dict[str, set[str]] = {
    "zlib": {"level"}, "gzip": {"level"}, "bz2": {"level"}, "zstd": {"level", "checksum"},
    "lz4": {"acceleration"}, "blosc": {"cname", "clevel", "shuffle", "blocksize", "typesize"},
    "shuffle": {"elementsize"}, "fletcher32": set(), "crc32c": set(), "vlen-utf8": set(),
    "bytes": {"endian"}, "transpose": {"order"}, "delta": {"dtype", "astype"},
    "fixedscaleoffset": {"offset", "scale", "dtype", "astype"},
}  # fmt: skip
"""Codecs that are always there, and their settings: Zarr, slow to import, is asked of others."""
_PLAIN_V3 = frozenset(
    {
        "zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding",
        "fill_value", "codecs", "attributes", "dimension_names", "consolidated_metadata",
    }
)  # fmt: skip
_PLAIN_TYPES = frozenset(
    {"bool", *(f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64))}
) - {"float8"}


_PLAIN_ENCODINGS: list[Any] = [
    {"name": "default"},
    *(
        {"name": name, "configuration": {"separator": separator}}
        for name in ("default", "v2")
        for separator in ("/", ".")
    ),
]
_PLAIN_BYTES: list[Any] = [
    {"name": "bytes", "configuration": {"endian": order}} for order in ("little", "big")
]
_PLAIN_CODECS: list[Any] = [
    {"name": "crc32c"},
    *({"name": "gzip", "configuration": {"level": level}} for level in range(10)),
    *(
        {"name": "zstd", "configuration": {"level": level, "checksum": checksum}}
        for level in range(23)
        for checksum in (False, True)
    ),
]


def lint_codecs(opened: OpenedSet, base: str, findings: Findings) -> frozenset[str]:
    """Record what prevents Zarr from decoding an array."""
    problems: dict[str, tuple[str, str] | None] = {}  # many arrays have the same metadata
    good: set[str] = set()
    for array in opened.arrays.below(opened.tree.root):
        text = _text(array)
        if text not in problems:
            problems[text] = _problem(array, text)
        problem, key = problems[text], array.metadata_key
        if problem is None:
            good.add(array.path)
        elif problem[0]:
            code, said = problem
            findings.add(code, base + pointer(key), f"{array.path_text(True)} {said}", key=key)
    return frozenset(good)


def _text(array: ArrayMeta) -> str:
    kept = {name: value for name, value in array.metadata.items() if name != "attributes"}
    return json.dumps(kept)


def _problem(array: ArrayMeta, text: str) -> tuple[str, str] | None:
    """Return the code and the rest of the sentence for a fault; None if there is none."""
    is_v2 = array.zarr_format == 2
    dtype = array.metadata.get("dtype")
    has_dtype = isinstance(dtype, str) and numpy_dtype(dtype) is not None
    is_plain = has_dtype if is_v2 else _is_plain(array)
    if is_plain and all(
        name in _KNOWN and isinstance(settings, Mapping) and settings.keys() <= _KNOWN[name]
        for name, settings in array.pipeline
    ):
        return None
    try:
        refuse_unsafe("array", text.encode())
    except RefexplorerError as error:
        return "unsafe-codec", f"{error}".removeprefix("array ")
    for name, _ in array.pipeline:
        if name and not is_installed(name, array.zarr_format):
            guess = suggest(name, _KNOWN)
            return "codec-not-installed", f"{missing(name, array.zarr_format)} {guess}".rstrip()
    try:  # of the codecs inside of shards, and of the data type
        require_codecs("array", text.encode())
    except RefexplorerError as error:
        return "codec-not-installed", f"{error}".removeprefix("array ")
    if any(lint_metadata_text(array.metadata_key, text)):  # noted already, and better
        return "", ""
    from refexplorer.io.reading.zarr_refusals import array_refusal  # with Zarr, slow to import

    refusal = array_refusal(array.metadata)
    return None if refusal is None else ("bad-metadata", f"cannot be opened by Zarr: {refusal}")


def _is_plain(array: ArrayMeta) -> bool:
    """Return whether Zarr v3 metadata have only what the lint rules of the specification know."""
    written: Any = array.metadata
    encoding, codecs = written.get("chunk_key_encoding"), written.get("codecs")
    grid = {"name": "regular", "configuration": {"chunk_shape": list(array.chunks)}}
    return (
        written.keys() <= _PLAIN_V3
        and str(written.get("data_type")) in _PLAIN_TYPES
        and written.get("chunk_grid") == grid
        and encoding in _PLAIN_ENCODINGS
        and isinstance(codecs, list)
        and codecs[:1] in [[plain] for plain in _PLAIN_BYTES]
        and all(codec in _PLAIN_CODECS for codec in codecs[1:])
    )


DECODED_CHUNKS = 2_000
DECODED_BYTES = 2**26
"""Limits on the inline chunks that are decoded, so this takes less than a second."""


@dataclass
class _Seen:
    """The contents of the inline chunks of one array."""

    array: ArrayMeta
    chunks: int = 0  # How many were decoded
    # values, masked: How many values are in them, and how many of these equal the fill value
    values: int = 0
    masked: int = 0
    failed: list[str] = field(default_factory=list)  # The keys of those that cannot be decoded
    reason: str = ""  # Why the first of them cannot


def lint_values(
    opened: OpenedSet, seen: Mapping[str, _Seen], base: str, findings: Findings
) -> None:
    """Record inline chunks that cannot be decoded, and values that are or may be masked."""
    for found in seen.values():
        if found.failed:
            key = found.failed[0]
            findings.add(
                "undecodable-inline",
                base + pointer(key),
                f"The inline data of `{key}` is not a chunk of {found.array.path_text()}: "
                f"{found.reason}",
                key=key,
                count=len(found.failed),
            )
    for array in opened.arrays.below(opened.tree.root):
        if may_be_a_value(array, attributes_of(opened.table, array)):
            _note_masked(opened, seen.get(array.path, _Seen(array)), base, findings)


class _InlineLook:
    """Decodes the first inline chunks of a set."""

    def __init__(self, opened: OpenedSet, limits: Limits, decodable: Collection[str]) -> None:
        self._opened, self._limits, self._decodable = opened, limits, decodable
        self._left, self._room = DECODED_CHUNKS, DECODED_BYTES
        self.seen: dict[str, _Seen] = {}

    def look(self, part: Segment, columns: Columns) -> None:
        """Decode the inline chunks among the given references, unless there are too many."""
        for row in np.flatnonzero(columns.kinds <= BASE64) if self._is_room else ():
            key = part.key_at(int(row))
            of_array = None if is_metadata(key) else self._opened.arrays.of_key(key)
            if of_array is None or of_array[0].path not in self._decodable:
                continue
            array, index = of_array
            self._room -= math.prod(array.chunks) * (array.itemsize or POINTER)
            self._left -= 1
            if not self._is_room:
                return
            reference = columns.reference_at(int(row))
            assert isinstance(reference, Inline | Base64)
            if array.contains(index):
                seen = self.seen.setdefault(array.path, _Seen(array))
                _decode(seen, key, index, reference, self._limits)

    @property
    def _is_room(self) -> bool:
        return self._left >= 0 and self._room >= 0


def _decode(
    seen: _Seen, key: str, index: tuple[int, ...], reference: Inline | Base64, limits: Limits
) -> None:
    array = seen.array.chunk_array(index)
    size = array.encoded_size
    if reference.size == 0 or (size is not None and reference.size != size):
        return  # the rules of lengths report it without decoding
    try:
        data: Any = reference.data
        for step in steps(array, limits):
            if step.stage.name != VALUES and not is_bounded(step.stage.name):
                return
            data = step.run(data)
        values = np.asarray(data).reshape(array.chunks)
    except LimitError:
        return
    except Exception as error:  # codecs raise what they like
        seen.failed.append(key)
        seen.reason = seen.reason or error_text(error)
        return
    spans = (slice(0, part.stop - part.start) for part in region(seen.array, index))
    inside = np.asarray(values[tuple(spans)])
    seen.chunks += 1
    seen.values += inside.size
    if values.dtype.kind in "iuf" and isinstance(array.fill_value, int | float):
        with np.errstate(over="ignore"):  # of one that the data type cannot have
            fill = inside == array.fill_value
        seen.masked += int(np.count_nonzero(fill))


def _note_masked(opened: OpenedSet, seen: _Seen, base: str, findings: Findings) -> None:
    array, key = seen.array, seen.array.metadata_key
    value = array.fill_value
    if seen.masked:
        findings.add(
            "fill-value-masks",
            base + pointer(key),
            f"xarray reads {seen.masked:,} of {counted(seen.values, 'value')} of "
            f"{array.path_text()} as missing, since they equal the fill value {value!r}.",
            'Write "fill_value": null if the array has no missing values.',
            key=key,
        )
    elif seen.chunks < (opened.arrays.present(array) or math.inf):
        findings.add(
            "fill-value-may-mask",
            base + pointer(key),
            f"xarray reads each {value!r} of {array.path_text()} as missing, since it is the fill "
            "value; whether its data has one was not checked.",
            'Write "fill_value": null if the array has no missing values.',
            key=key,
        )


def diagnose(source: Source, inside: Internals, limits: Limits, base: str) -> tuple[Finding, ...]:
    """Return the diagnostics of a set, errors first."""
    opened = inside.contents.opened
    is_written = source.is_document or source.form == "parquet"
    version = int(source.form == "V1") if is_written else None
    codecs = Findings()
    values = _InlineLook(opened, limits, lint_codecs(opened, base, codecs))
    features = ColumnFeatures()
    found = lint(opened, version, base, (values.look, features.look))
    findings = Findings()
    findings.extend(inside.findings)
    for each in (
        *left_out_findings(source.left_out, base), *refused_findings(source.repository, base),
    ):  # fmt: skip
        findings.add(each.code, each.pointer, each.message)
    findings.extend(found)
    findings.extend(codecs)
    lint_values(opened, values.seen, base, findings)
    lint_geozarr(opened, limits, base, findings)
    uses = features_of(source, inside.contents, features)
    findings.extend(note_readers(source, inside.contents, tuple(findings), uses))
    if source.is_document:
        with suppress(OSError, RefexplorerError):  # of a file that is gone
            note_encoding(source, findings)
    return findings.freeze(locator_of(source))


def left_out_findings(left_out: Iterable[LeftOut], base: str) -> Iterator[Finding]:
    """Yield the file objects that were omitted on opening."""
    for each in left_out:
        said = f"The {each.kind} `{escape(each.name)}` of the file is not in the set"
        yield Finding(
            "left-out", Severity.ERROR, base + pointer(each.name),
            f"{said}: {each.reason.rstrip('.')}.", key=each.name, array=each.name,
        )  # fmt: skip


def refused_findings(repository: RepositoryFacts | None, base: str) -> Iterator[Finding]:
    """Yield the chunks of a repository that Icechunk refuses to read."""
    if repository is not None and repository.outside:
        words = "location of virtual chunks is", "locations of virtual chunks are"
        chunks = counted(repository.outside, *words)
        where = f"in no virtual chunk container of the repository, such as {repository.example}"
        code = "no-container"
        yield Finding(code, CODES[code].severity, base, f"{chunks} {where}.")
