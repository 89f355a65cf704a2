"""Verdicts of readers on sets, where files or the readers themselves are needed.

`store_dialects` judges a parquet store by rule, from its metadata and the names of its files,
`repository_dialects` an Icechunk repository.
`run` is the one place that runs other readers; they render a stranger's templates.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from refexplorer.formats.buffers.entries import Entries
from refexplorer.formats.icechunk.facts import RepositoryFacts
from refexplorer.formats.json.text import decode_text, parse_json
from refexplorer.formats.parquet.store import ParquetStore, why_lost
from refexplorer.formats.source import ZMETADATA, Source
from refexplorer.spec.core.diagnostics import Findings
from refexplorer.spec.dialects import (
    READERS,
    SPECIFICATION,
    Basis,
    Dialects,
    Outcome,
    Verdict,
    VerdictReason,
)
from refexplorer.spec.dialects.fsspec import FsspecDefault, FsspecJinja
from refexplorer.spec.dialects.gdal import Gdal
from refexplorer.spec.dialects.judging import Refusal, Theirs, VerdictTally, refused
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
    for reader in READERS:
        tally = VerdictTally()
        try:
            _RULES.get(reader.name, _json_only)(store, written, tally)
            verdict = tally.verdict(reader.name)
        except Refusal as refusal:
            verdict = refused(reader.name, refusal)
        verdicts.append(replace(verdict, basis=reader.basis))
    return Dialects(tuple(verdicts))


def repository_dialects(source: Source) -> Dialects:
    """Return what readers make of an Icechunk repository: those of references refuse it."""
    facts, entries = source.repository, source.entries
    assert facts is not None
    assert entries is not None
    count = len(entries.keys)
    reason = VerdictReason(
        f"An Icechunk repository with {count:,} keys; the specification of references is not "
        "about these."
    )
    why = Refusal("Only references as JSON or parquet are read; `convert` writes both.")
    verdicts = [
        Verdict(SPECIFICATION, Outcome.SAME, (reason,)),
        Verdict(
            "icechunk",
            Outcome.SAME,
            notes=() if facts.access is None else (facts.access,),
            basis=Basis("icechunk 2.3", "2026-11-22", "run"),
        ),
        _gdal_repository(facts, entries),
        *(replace(refused(each.name, why), basis=each.basis) for each in READERS),
    ]
    return Dialects(tuple(verdicts))


def _gdal_repository(facts: RepositoryFacts, entries: Entries) -> Verdict:
    """Judge by GDAL's driver: it knows network locations, and asks no virtual chunk container."""
    tally = VerdictTally()
    local = np.array(
        [
            bool(url) and facts.kind_of(url) == "virtual" and not url.startswith(_GDAL_NETWORK)
            for url in entries.urls.to_pylist()
        ],
        np.bool_,
    )
    ranges = entries.codes[entries.codes >= 0]
    count = int(np.count_nonzero(local[ranges]))
    if count:
        tally.note(
            f"{count:,} virtual chunks are at locations of no network; reading one is an error "
            "unless ICECHUNK_ALLOW_LOCAL_CHUNK_LOCATION is YES."
        )
    tally.note(
        "Virtual chunk containers are not asked, so that each location is read; of recorded "
        "versions the time of the last change is compared, and no ETag."
    )
    if facts.uncommitted:
        tally.note("Changes that are not committed are not seen.")
    basis = Basis("GDAL 3.14 (frmts/icechunk, 00021bd)", "2026-11-22", "source")
    return replace(tally.verdict("GDAL, Icechunk driver"), basis=basis)


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


_RULES: dict[str, Callable[[ParquetStore, Written, VerdictTally], None]] = {
    FsspecDefault.name: _fsspec,
    FsspecJinja.name: _fsspec,
    VirtualiZarr.name: _virtualizarr,
    Gdal.name: _gdal,
}
"""Of readers that know parquet."""
_GDAL_NETWORK = ("s3://", "gs://", "gcs://", "az://", "azure://", "http://", "https://")


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
