"""LINDI's soft links: a group that stands for another place of the set gets what lies there.

A link is followed as HDF5 follows it: through other links, and those inside of what it leads to.
Rows of columns are copied; the bytes that they refer to stay where they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from refexplorer.core.limits import Limits
from refexplorer.formats.columns.arrow import number_column, text_column
from refexplorer.formats.columns.references import BASE64
from refexplorer.formats.columns.table import Table
from refexplorer.refset.overriding import is_within
from refexplorer.refset.segments import Rejected
from refexplorer.spec.findings import Findings, pointer
from refexplorer.spec.keys import MAX_DEPTH, prefix
from refexplorer.spec.lint import SOFT, path_of_link
from refexplorer.spec.zarr_metadata import parse_metadata

_OWN = {".zgroup", ".zarray", ".zattrs", "zarr.json"}
"""The keys that a link has itself."""
_KEY_BYTES = 128
"""Characters that new keys may have on average, where there are as many as are allowed."""
_ROUND = "it leads to a group that it is itself in, or back to itself"


class _NotFollowed(Exception):
    """Why a link is not followed."""


@dataclass(eq=False, slots=True)
class _SoftLink:
    """A soft link."""

    folder: str  # The group that it is
    key: str  # The key of the attributes that make it a link
    path: str  # Where it leads, as it is written
    target: str = ""  # The folder that this is, once all links on the way are followed
    refused: str = ""  # Why it is not followed
    # The rows that it copies with their new keys, and the same of rejected keys
    copied: tuple[list[tuple[int, str]], list[tuple[int, str]]] = field(default=([], []))


def follow_links(
    table: Table,
    rejected: Rejected,
    generated: Sequence[str],
    base: str,
    limits: Limits,
    findings: Findings,
) -> tuple[Table, Rejected]:
    """Return the references with what soft links lead to in place of the links."""
    links = _links_of(table)
    if not links:
        return table, rejected
    work = _Following(table, rejected, generated, links, limits)
    work.follow()
    for link in links.values():
        if link.refused:
            findings.add(
                "broken-link",
                base + pointer(link.key),
                f"`{link.folder}` is a soft link to {link.path!r} and is not followed: "
                f"{link.refused}; it is shown as other readers see it, a group of its own.",
                "Copy what the link is to lead to, or make references to the file anew.",
                key=link.key,
            )
        else:
            findings.add(
                "soft-link",
                base + pointer(link.key),
                f"`{link.folder}` is a soft link to {link.path!r} and is shown with what is "
                "there, as LINDI does; for all other readers it is an empty group.",
                "`convert` writes a set in which every reader finds these keys.",
                key=link.key,
            )
    return work.left()


def _links_of(table: Table) -> dict[str, _SoftLink]:
    """Return the soft links by their folders."""
    columns = table.columns
    if not any(SOFT in text for text in columns.texts) and not np.any(columns.kinds == BASE64):
        return {}
    found = {}
    for key in table.metadata:
        folder, _, name = key.rpartition("/")
        text = table.text(key) if folder and name in (".zattrs", "zarr.json") else None
        if text is None or SOFT not in text:
            continue
        document = parse_metadata(text) or {}
        path = path_of_link(document.get("attributes") if name == "zarr.json" else document)
        if path is not None:
            found[folder] = _SoftLink(folder, key, path)
    return found


class _Following:
    """The links of a set, each with the rows that it copies."""

    def __init__(
        self,
        table: Table,
        rejected: Rejected,
        generated: Sequence[str],
        links: dict[str, _SoftLink],
        limits: Limits,
    ) -> None:
        self._table, self._rejected, self._generated = table, rejected, generated
        self._links, self._folders = links, sorted(links)
        self._key_bytes = limits.key_bytes
        self._keys_left = limits.linked_keys
        self._chars_left = limits.linked_keys * _KEY_BYTES
        self._held = tuple(_SortedKeys(each.keys.to_pylist()) for each in (table, rejected))

    def follow(self) -> None:
        """Find what each link leads to, and the rows there."""
        for link in self._links.values():
            try:
                link.target = self._target(link)
            except _NotFollowed as error:
                link.refused = str(error)
        for folder in self._folders:
            link = self._links[folder]
            while not link.refused:
                try:
                    cycle = self._gather(link)
                except _NotFollowed as error:
                    link.refused = str(error)
                    break
                if not cycle:
                    break
                for each in cycle:
                    each.refused = _ROUND

    def left(self) -> tuple[Table, Rejected]:
        """Return the table and the rejected keys, in which links are replaced by copies."""
        followed = [link for link in self._links.values() if not link.refused]
        overridden = {row for link in followed for row, _ in self._held[0].within(link.folder)}
        rows = [row for row in range(self._table.count) if row not in overridden]
        copies, others = (
            [copy for link in followed for copy in link.copied[which]] for which in (0, 1)
        )
        kept = self._table.keys.take(number_column(np.array(rows, np.int64)))
        keys = pa.concat_arrays([kept, text_column([key for _, key in copies])])
        chosen = np.array(rows + [row for row, _ in copies], np.int64)
        table = replace(self._table, keys=keys, columns=self._table.columns.select(chosen))
        if not others:
            return table, self._rejected
        codes = self._rejected.codes
        return table, replace(
            self._rejected,
            keys=pa.concat_arrays([self._rejected.keys, text_column([key for _, key in others])]),
            codes=np.concatenate([codes, codes[[row for row, _ in others]]]),
        )

    def _target(self, link: _SoftLink) -> str:
        """Return the folder that a link leads to."""
        within = [key for held in self._held for _, key in held.within(link.folder)]
        if self._is_generated(link.folder) or not {*within} <= {
            f"{link.folder}/{name}" for name in _OWN
        }:
            raise _NotFollowed("it holds keys of its own")
        parts = _parts(link.path[: self._key_bytes])
        # LINDI writes the paths of HDF5 as they are, but its reader takes each from the root
        starts = [""] if link.path.startswith("/") else [_parent(link.folder), ""]
        places = dict.fromkeys(self._real(start, parts) for start in starts)
        found = [place for place in places if self._is_there(place)]
        if not found:
            raise _NotFollowed("the set has nothing there")
        if len(found) > 1:
            raise _NotFollowed(
                f"the path is `{found[0]}` for HDF5 and `{found[1]}` for LINDI, and both are there"
            )
        if is_within(link.folder, found[0]):
            raise _NotFollowed(_ROUND)
        if self._is_generated(found[0]):
            raise _NotFollowed("gen items make keys there, which are not copied")
        return found[0]

    def _is_generated(self, folder: str) -> bool:
        return any(is_within(one, folder) or is_within(folder, one) for one in self._generated)

    def _is_there(self, place: str) -> bool:
        return any(next(iter(held.within(place)), None) is not None for held in self._held)

    def _real(self, start: str, parts: Sequence[str]) -> str:
        """Return where a path leads once all links on it are followed."""
        place, left, passed = start, list(reversed(parts)), 0
        while left:
            place = prefix(place) + left.pop()
            link = self._links.get(place)
            if link is None:
                continue
            passed += 1
            if passed > MAX_DEPTH:
                raise _NotFollowed(_ROUND)
            place = "" if link.path.startswith("/") else _parent(place)
            left += reversed(_parts(link.path[: self._key_bytes]))
        return place

    def _gather(self, link: _SoftLink) -> Sequence[_SoftLink]:
        """Note the rows that a link copies; return the links that lead round to each other."""
        link.copied = [], []
        todo: list[tuple[str, str, tuple[_SoftLink, ...]]] = [(link.target, link.folder, (link,))]
        while todo:
            source, place, chain = todo.pop()
            nested = [each for each in self._links_within(source) if not each.refused]
            for each in nested:
                if each in chain:
                    return chain[chain.index(each) :]
                if len(chain) > MAX_DEPTH:
                    raise _NotFollowed(f"it leads through more than {MAX_DEPTH} other links")
                todo.append((each.target, place + each.folder[len(source) :], (*chain, each)))
            self._spend(len(nested), 0)
            replaced = {each.folder for each in nested}
            for held, copied in zip(self._held, link.copied, strict=True):
                for row, key in held.within(source):
                    if replaced and _parent(key) in replaced:
                        continue
                    new = place + key[len(source) :]
                    self._spend(1, len(new))
                    copied.append((row, new))
        return ()

    def _links_within(self, folder: str) -> Iterator[_SoftLink]:
        start = prefix(folder)
        for at in range(bisect_left(self._folders, start), len(self._folders)):
            if not self._folders[at].startswith(start):
                return
            yield self._links[self._folders[at]]

    def _spend(self, keys: int, chars: int) -> None:
        self._keys_left -= keys
        self._chars_left -= chars
        if chars > self._key_bytes:
            raise _NotFollowed(f"it would make keys of more than {self._key_bytes:,} bytes")
        if self._keys_left < 0 or self._chars_left < 0:
            raise _NotFollowed(
                "links would add more keys than are allowed; `Limits.linked_keys` raises the limit"
            )


class _SortedKeys:
    """Keys in order, each with its row."""

    def __init__(self, keys: list[str]) -> None:
        self._rows = sorted(range(len(keys)), key=keys.__getitem__)
        self._keys = [keys[row] for row in self._rows]

    def within(self, folder: str) -> Iterator[tuple[int, str]]:
        """Yield the rows and keys below a folder."""
        start = prefix(folder)
        for at in range(bisect_left(self._keys, start), len(self._keys)):
            if not self._keys[at].startswith(start):
                return
            yield self._rows[at], self._keys[at]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
