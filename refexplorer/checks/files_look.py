"""The look at the files: the set compared with the metadata of each, and with its values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import numpy as np

from refexplorer.checks.compare.inline import INLINE_ELEMENTS, InlineValues
from refexplorer.checks.compare.set_array import SetArray
from refexplorer.checks.engine import CheckRun, VersionsNow
from refexplorer.checks.gathering import ReportBuilder
from refexplorer.checks.ledger import Counts
from refexplorer.checks.look.files import Verifier
from refexplorer.checks.parts import DECODING_COST, Doing
from refexplorer.checks.references import AuditedBlock
from refexplorer.checks.results import ResultStore
from refexplorer.checks.sorting import PlanSizes, wanted_of
from refexplorer.checks.terms import CheckTerms, ReadTerms
from refexplorer.core.errors import RefexplorerError
from refexplorer.formats.icechunk.history import Recorded
from refexplorer.io.sources.opening import installed_packages
from refexplorer.refset.opened_set import OpenedSet
from refexplorer.spec.findings import Finding
from refexplorer.spec.zarr_metadata import ArrayMeta

FILE_COST = 10 * DECODING_COST
"""What reading the metadata of a file takes, in references: a part has about a hundred files."""
VERIFY_SIZES = PlanSizes(
    asking_cost=FILE_COST, sorted_rows=2**17, batch_rows=2**10, interval_batches=2**6
)
"""Reading files takes far longer than sorting, so a seventh of what an audit holds is enough."""
LENT_CHUNKS = 16
"""A coordinate of more chunks than this is not read from the file that the set refers to."""
# another number here makes results of older versions start again, since they hold other columns
_FORM = 6


class FilesLook:
    """Compares the references of each file with what the file has."""

    sizes = VERIFY_SIZES
    has_keys = True
    has_unlisted = False
    encoding: Mapping[str, Any] = MappingProxyType({"compression": "zstd"})

    def __init__(
        self,
        opened: OpenedSet,
        reading: ReadTerms,
        terms: CheckTerms,
        values: str = "none",
        remake: bool = False,
    ) -> None:
        if values not in ("none", "sample", "all"):
            raise RefexplorerError(f"values must be 'none', 'sample' or 'all', not {values!r}.")
        self.wanted = wanted_of(values)
        metas = [meta for path in opened.arrays.paths if (meta := opened.arrays.get(path))]
        self._ours = [SetArray(meta) for meta in metas]
        self._arrays = {each.meta.path: each for each in self._ours}
        self._held = InlineValues(reading.limits)
        self._lent = SharedCoordinates(self._ours)
        self._joined = None if terms.share is None else _FilesOfArrays(metas)
        self._reading, self._values, self._remake = reading, values, remake

    def see(self, block: AuditedBlock) -> None:
        """Take in the values that the set holds, and which files arrays are in."""
        self._held.take(block, self._ours)
        self._lent.look(block)
        if self._joined is not None:
            self._joined.look(block)

    def begin(self, opened: OpenedSet, store: ResultStore) -> tuple[Doing, VersionsNow]:
        """Return what compares a part with its files."""
        self._lent.read(opened, self._reading, self._held)
        how = (_FORM, self._values, self._remake)
        store.manner = _fingerprint(self._ours, self._held, how, self._reading.recorded)
        verifier = Verifier(
            self._reading, self._arrays, self._held, self._lent.bare, self._remake,
            store.keeps_versions,
        )  # fmt: skip
        return verifier.verify, verifier.versions

    def gather(self, run: CheckRun) -> tuple[Sequence[Finding], Counts]:
        """Bring the results of all parts into the ledger."""
        builder = ReportBuilder(self._arrays, self._held, run.ledger, run.sorter.urls, run.base)
        for results in run.store.tables():
            builder.add(results)
        is_whole = self._joined is None or run.terms.share is None
        is_joined = None if is_whole or self._joined is None else self._joined.has
        found = builder.finish(run.is_complete, is_joined)
        if run.is_complete and is_joined is None:
            run.ledger.followed = builder.followed
        return found, builder.counts


class SharedCoordinates:
    """Coordinates that the set refers to in one file, and that all others should have, too."""

    def __init__(self, arrays: list[SetArray]) -> None:
        self._arrays = arrays
        self._counts = np.zeros(len(arrays) + 1, np.int64)

    def look(self, block: AuditedBlock) -> None:
        """Count the references of each array."""
        self._counts += np.bincount(block.arrays + 1, minlength=len(self._counts))[
            : len(self._counts)
        ]

    @property
    def bare(self) -> frozenset[str]:
        """The arrays without a reference."""
        counts = self._counts[1:].tolist()
        pairs = zip(self._arrays, counts, strict=True)
        return frozenset(ours.meta.path for ours, count in pairs if not count)

    def read(self, opened: OpenedSet, reading: ReadTerms, held: InlineValues) -> None:
        """Read them through the set, where they are few chunks of several files' coordinates."""
        targets = reading.targets()
        for place, ours in enumerate(self._arrays):
            meta, count = ours.meta, int(self._counts[place + 1])
            if (
                meta.path in held.arrays
                or meta.dimensions != (ours.name,)
                or not 0 < count <= LENT_CHUNKS
                or count != meta.chunk_count
                or meta.shape[0] > INLINE_ELEMENTS
            ):
                continue
            keys = [meta.chunk_key((number,)) for number in range(count)]
            found = [opened.lookup(key) for key in keys]
            urls = {getattr(each[1], "url", None) for each in found if each is not None}
            if len(urls) != 1:
                continue  # each file has its part of it
            with suppress(RefexplorerError):  # what cannot be read is said of its file
                data = [targets.fetch(key, each[1]) for key, each in zip(keys, found, strict=True)
                        if each is not None]  # fmt: skip
                for number, chunk in enumerate(data):
                    held.put(ours, number, chunk, is_lent=True)
                held.reasons.pop(meta.path, None)


class _FilesOfArrays:
    """Which arrays have chunks in several files, of which a share of the files is compared."""

    def __init__(self, arrays: list[ArrayMeta]) -> None:
        self._arrays = arrays
        self._files: dict[str, set[str | None]] = {}

    def has(self, path: str) -> bool:
        """Return whether the chunks of an array are in several files."""
        return len(self._files.get(path, ())) > 1

    def look(self, block: AuditedBlock) -> None:
        """Take in the files of each array, two of them at most."""
        columns = block.table.columns
        leads = (block.arrays >= 0) & (columns.targets >= 0)
        for place in np.unique(block.arrays[leads]).tolist():
            found = self._files.setdefault(self._arrays[place].path, set())
            if len(found) < 2:
                targets = np.unique(columns.targets[leads & (block.arrays == place)])
                found |= set(columns.urls.at(targets[:2]))


def _fingerprint(
    arrays: list[SetArray], held: InlineValues, how: Iterable[object], recorded: Recorded
) -> str:
    """Return what results depend on in addition to their part."""
    described = [[a.meta.path, dict(a.meta.metadata), dict(a.meta.attributes)] for a in arrays]
    text = json.dumps([*how, described, installed_packages()], default=str)
    digest = blake2b(text.encode(), digest_size=16)
    for url in sorted(recorded):
        digest.update(repr((url, sorted(map(repr, recorded[url])))).encode())
    for path, each in held.arrays.items():
        digest.update(path.encode())
        digest.update(repr(each.values.tolist()).encode())
    return digest.hexdigest()
