"""Verdicts of readers on sets, where files or the readers themselves are needed.

`store_dialects` judges a parquet store by rule, from its metadata and the names of its files.
`run` is the one place that runs other readers; they render a stranger's templates.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from refexplorer.formats.json.text import decode_text, parse_json
from refexplorer.formats.parquet.store import ParquetStore, why_lost
from refexplorer.formats.source import ZMETADATA
from refexplorer.spec.core.diagnostics import Findings
from refexplorer.spec.dialects import SPECIFICATION, Dialects, Outcome, Verdict, VerdictReason
from refexplorer.spec.dialects.fsspec import FsspecDefault, FsspecJinja
from refexplorer.spec.dialects.gdal import Gdal
from refexplorer.spec.dialects.javascript import JavaScript
from refexplorer.spec.dialects.judging import Refusal, Theirs, VerdictTally, refused
from refexplorer.spec.dialects.julia import KerchunkJl
from refexplorer.spec.dialects.virtualizarr import VirtualiZarr, check_metadata
from refexplorer.spec.document.expansion import expand_document
from refexplorer.spec.document.model import Document

Written = Mapping[str, object]
_DIMENSIONS_OF_GDAL = 32
_QUOTED = (
    "Metadata given as text is quoted once more, and requesting its chunks raises a TypeError."
)
_LOST = "A missing or damaged record file reads as fill values, without a warning."


def store_dialects(store: ParquetStore) -> Dialects:
    """Return the verdicts of the specification and of each reader on a parquet store.

    Record files are not read, so rows are not judged.
    """
    with store.filesystem.open(f"{store.root.rstrip('/')}/{ZMETADATA}", "rb") as file:
        document = parse_json(decode_text(file.read()), store.limits, Findings())
    assert isinstance(document, dict)
    written = document["metadata"]
    chunks = sum(array.chunk_count for array in store.arrays)
    reason = VerdictReason(
        f"It has {len(store.metadata):,} metadata keys and up to {chunks:,} chunks; what record "
        "files hold is not judged."
    )
    verdicts = [Verdict(SPECIFICATION, Outcome.SAME, (reason,))]
    for reader, rules in _READERS.items():
        tally = VerdictTally()
        try:
            rules(store, written, tally)
            verdicts.append(tally.verdict(reader))
        except Refusal as refusal:
            verdicts.append(refused(reader, refusal))
    return Dialects(tuple(verdicts))


def _fsspec(store: ParquetStore, written: Written, tally: VerdictTally) -> None:
    for key, value in written.items():
        reference = store.metadata.get(key)
        if isinstance(value, str) and reference is not None:
            tally.compare(key, reference.to_v0(), Theirs(json.dumps(value), _QUOTED))
        if isinstance(value, Mapping) and _has(value, "chunks", 0):
            tally.note(f"Listing the keys fails: `{key}` has a chunk of length 0.")
    _drop_arrays(store, tally)
    wanted = sum(map(store.record_count, store.arrays))
    if wanted > sum(name.endswith(".parq") for name in store.files):
        tally.note(_LOST)


def _virtualizarr(store: ParquetStore, written: Written, tally: VerdictTally) -> None:
    arrays = check_metadata({key: json.dumps(value) for key, value in written.items()})
    _drop_arrays(store, tally)
    for array in store.arrays:
        if array.path not in arrays and why_lost(array) is None:
            tally.drop("Only arrays directly below the root are read.", array.chunk_count)


def _gdal(store: ParquetStore, written: Written, tally: VerdictTally) -> None:
    for key, value in written.items():
        if not isinstance(value, Mapping):
            raise Refusal(f"The metadata `{key}` is not an object.")
        if key.endswith("/.zarray") and (_has(value, "shape", 0) or _has(value, "chunks", 0)):
            raise Refusal(f"`{key}` has a length of 0.")
    for array in store.arrays:
        if len(array.shape) > _DIMENSIONS_OF_GDAL:
            raise Refusal(f"`{array.path}` has more than {_DIMENSIONS_OF_GDAL} dimensions.")
    _drop_arrays(store, tally)


def _json_only(store: ParquetStore, written: Written, tally: VerdictTally) -> None:
    raise Refusal("Only JSON is read, not parquet.")


_READERS: dict[str, Callable[[ParquetStore, Written, VerdictTally], None]] = {
    FsspecDefault.name: _fsspec,
    FsspecJinja.name: _fsspec,
    VirtualiZarr.name: _virtualizarr,
    JavaScript.name: _json_only,
    KerchunkJl.name: _json_only,
    Gdal.name: _gdal,
}


def _has(metadata: Mapping[str, object], name: str, number: int) -> bool:
    value = metadata.get(name)
    return isinstance(value, list) and number in value


def _drop_arrays(store: ParquetStore, tally: VerdictTally) -> None:
    """Count the chunks of arrays that fsspec, and GDAL like it, cannot find."""
    for array in store.arrays:
        why = why_lost(array)
        if why is not None:
            tally.drop(f"No chunk of `{array.path}` is found: {why}", array.chunk_count)


def run(
    document: Document, written: Mapping[str, object], templates: Mapping[str, str] | None = None
) -> Dialects:
    """Run the readers that are installed, and return what they really make of a document.

    They render its templates by their own means (`str.format`, jinja2's sandbox) and write out
    every key of ``gen``: only for tests and for sets that are trusted, on an explicit wish.

    Raises
    ------
    LimitError
        If there are more than `Limits.expanded_keys` keys to compare.
    """
    ours = expand_document(document).v0
    verdicts = []
    for reader, read in _INSTALLED.items():
        tally = VerdictTally()
        try:
            theirs = read(copy.deepcopy(dict(written)), dict(templates or {}))
        except ImportError:
            continue
        except Exception as error:  # readers raise what they like
            why = Refusal(f"{type(error).__name__}: {error}")
            verdicts.append(refused(reader, why))
            continue
        _compare(ours, theirs, tally)
        verdicts.append(tally.verdict(reader))
    return Dialects(tuple(verdicts))


def _compare(ours: Mapping[str, Any], theirs: Mapping[str, Any], tally: VerdictTally) -> None:
    for key in ours.keys() | theirs.keys():
        if key not in theirs:
            tally.drop("The key is missing.", 1)
        elif _parsed(ours.get(key)) != _parsed(theirs[key]) or key not in ours:
            tally.compare(key, ours.get(key), Theirs(theirs[key], "The value is different."))


def _parsed(value: object) -> object:
    """Return a text that holds a JSON object as that object, since readers write it anew."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value, parse_constant=str)
        except (ValueError, RecursionError):
            return value
    return value


def _run_fsspec(simple: bool) -> Callable[[dict[str, Any], dict[str, str]], Mapping[str, Any]]:
    def read(written: dict[str, Any], templates: dict[str, str]) -> Mapping[str, Any]:
        reference = import_module("fsspec.implementations.reference")
        filesystem = reference.ReferenceFileSystem(
            written, fs={}, simple_templates=simple, template_overrides=templates or None
        )
        return dict(filesystem.references)

    return read


_INSTALLED = {FsspecDefault.name: _run_fsspec(True), FsspecJinja.name: _run_fsspec(False)}
