"""The versions that targets had when Icechunk wrote their references down.

They are in the manifests alone, and Icechunk does not tell them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from math import prod
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.errors import SourceError
from refexplorer.formats.buffers.arrow import number_column, numbers_of, text_column
from refexplorer.formats.buffers.entries import LARGEST
from refexplorer.formats.icechunk.columns import VIRTUAL, batches, is_columnar
from refexplorer.formats.icechunk.manifests import (
    ManifestVersions,
    OpenManifest,
    chunks_of,
    versions_in,
)
from refexplorer.formats.icechunk.nodes import SnapshotNode, awaited, nodes_of
from refexplorer.formats.icechunk.repository import OpenedVersion
from refexplorer.limits import Limits


class RecordedVersion(NamedTuple):
    """What a target was when a reference to it was written."""

    etag: str | None  # As its store had it; None if none was written down
    # The last time it may have been modified, in seconds since 1970; None as above
    modified: int | None


Recorded = Mapping[str, tuple[RecordedVersion, ...]]
"""The versions by location; several where references to one target were written at several
times."""


def recorded_versions(
    opened: Callable[[], AbstractContextManager[OpenedVersion]],
    manifest: Callable[[str], str],
    limits: Limits,
    opening: OpenManifest,
) -> Recorded:
    """Read the versions of all virtual chunks of a snapshot."""
    found: dict[str, set[RecordedVersion]] = {}
    with opened() as version:
        assert version.repository is not None, "only what has a place can be opened again"
        for node in nodes_of(version.repository, version.session, version.name):
            files = [manifest(name) for name in node.manifests]
            for urls, etags, modified in _of_array(version, node, files, limits, opening):
                for url, etag, seconds in _distinct(urls, etags, modified):
                    one = RecordedVersion(etag or None, seconds or None)
                    if url and one != (None, None):
                        found.setdefault(url, set()).add(one)
    return {url: tuple(versions) for url, versions in found.items()}


_VersionColumns = tuple[pa.LargeStringArray, pa.LargeStringArray, np.ndarray]
"""Locations, ETags, and times of the last change, of chunks."""


def _of_array(
    version: OpenedVersion,
    node: SnapshotNode,
    files: list[str],
    limits: Limits,
    opening: OpenManifest,
) -> list[_VersionColumns]:
    """Return the columns of an array; those without any version are left out."""
    found: list[_VersionColumns] = []
    located: _Locations | None = None
    for file in files:
        blocks = list(versions_in(file, node.id, limits, opening))
        if not any(map(_tells, blocks)):
            continue
        if is_columnar(version.session.store):
            located = located or awaited(_located(version, node.path))
            urls = [located.urls(block.indices) for block in blocks]
        else:
            urls = [chunks.urls for chunks in chunks_of(file, node.id, limits, opening)]
        found += [
            (each, block.etags, block.modified) for each, block in zip(urls, blocks, strict=True)
        ]
    return found


def _tells(block: ManifestVersions) -> bool:
    """Say whether any version was written down."""
    return bool(block.modified.any() or pc.any(pc.not_equal(block.etags, "")).as_py())


class _Locations:
    """The locations of the virtual chunks of an array by their indices."""

    def __init__(self, indices: np.ndarray, urls: pa.LargeStringArray) -> None:
        self._most = indices.max(axis=0, initial=0).astype(np.int64)
        if prod(size + 1 for size in self._most.tolist()) > LARGEST:
            raise SourceError("The indices of its chunks are too large to be compared.")
        numbers = self._numbers(indices)
        self._order = np.argsort(numbers, kind="stable")
        self._sorted, self._urls = numbers[self._order], urls

    def urls(self, indices: np.ndarray) -> pa.LargeStringArray:
        """Return the location of each chunk; empty for a chunk that is not virtual."""
        numbers = self._numbers(indices)
        places = np.searchsorted(self._sorted, numbers)
        places[places == len(self._sorted)] = 0
        known = (indices <= self._most).all(axis=1)
        rows = np.full(len(indices), len(self._urls))
        if len(self._sorted):
            known &= self._sorted[places] == numbers
            rows = np.where(known, self._order[places], rows)
        return pa.concat_arrays([self._urls, text_column([""])]).take(number_column(rows))

    def _numbers(self, indices: np.ndarray) -> np.ndarray:
        numbers = np.zeros(len(indices), np.int64)
        for size, column in zip((self._most + 1).tolist(), indices.T, strict=True):
            numbers = numbers * size + column
        return numbers


async def _located(version: OpenedVersion, path: str) -> _Locations:
    indices, urls = [], []
    async for batch in batches(version.session.store, path):
        virtual = np.flatnonzero(batch[1] == VIRTUAL)
        indices.append(batch[0][virtual].astype(np.int64))
        urls.append(text_column(batch[2]).take(number_column(virtual)))
    return _Locations(np.concatenate(indices), pa.concat_arrays(urls))


def _distinct(
    urls: pa.LargeStringArray, etags: pa.LargeStringArray, modified: np.ndarray
) -> set[tuple[str, str, int]]:
    """Return the different rows of three columns."""
    columns = [urls.dictionary_encode(), etags.dictionary_encode()]
    codes = [numbers_of(column.indices).astype(np.int64) for column in columns]
    rows = set(zip(*(code.tolist() for code in codes), modified.tolist(), strict=True))
    texts = [column.dictionary.to_pylist() for column in columns]
    return {(texts[0][url], texts[1][etag], seconds) for url, etag, seconds in rows}
