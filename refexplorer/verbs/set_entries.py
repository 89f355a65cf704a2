"""What a `ReferenceSet` says of its keys, arrays and targets: nothing of these is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import MissingError, RefexplorerError
from refexplorer.core.limits import Limits
from refexplorer.formats.documents import locator_of
from refexplorer.formats.source import ZMETADATA, Source
from refexplorer.refset.chunk_grid import ChunkReferences
from refexplorer.refset.opened_set import Internals, OpenedSet, number_of, numbers_from
from refexplorer.refset.search import find_keys
from refexplorer.refset.summary import Summary, derive
from refexplorer.refset.target_layout import TargetLayout, TargetSummary
from refexplorer.refset.tree import Node, Page
from refexplorer.spec.codes import Severity
from refexplorer.spec.findings import Finding, Locator, placed
from refexplorer.spec.references import Kind, Reference
from refexplorer.spec.zarr_metadata import ArrayMeta

if TYPE_CHECKING:
    from refexplorer.io.reading.trace import Trace


_COMPARED, _SIMILAR = 1000, 3
"""Arrays that a name is compared with, and names that a message lists."""


class SetEntries(Mapping[str, Reference]):
    """The keys of a set, as a mapping, as a tree, by array and by target."""

    source: Source
    limits: Limits
    templates: dict[str, Any]
    _internals: Internals
    _opened: OpenedSet

    def __getitem__(self, key: str) -> Reference:
        if not isinstance(key, str):
            raise KeyError(key)
        entry = self._opened.lookup(key)
        if entry is None:
            error = self._opened.missing(key)
            raise MissingError(key, _instead(key)) if self._is_array(key) else error
        return entry[1]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._opened.holds(key)

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self._opened.iterate())

    def __len__(self) -> int:
        return self.count

    @property
    def count(self) -> int:
        """Number of keys; exact even if `len` would overflow."""
        return self._opened.count

    @cached_property
    def diagnostics(self) -> tuple[Finding, ...]:
        """The diagnostics, errors first; found when they are first asked for."""
        from refexplorer.checks.set_lint import diagnose

        return diagnose(self.source, self._internals, self.limits, self._base)

    @property
    def error_count(self) -> int:
        """Number of errors found when the set was opened; `diagnostics` also finds warnings."""
        found = self._internals.findings
        errors = (each.count for each in found if each.severity is Severity.ERROR)
        return sum(errors) + len(self.source.left_out)

    def rejection(self, key: str) -> Finding | None:
        """Return the error that rejected a key of the source.

        None if it is in the set, or the source has no such key. In a large document only the
        pointer says where.
        """
        error = self._opened.rejection(key)
        is_short = not self.source.is_large
        return placed(error, self._locate) if error and is_short and self._locate else error

    def keys_at(self, start: int, stop: int) -> list[str]:
        """Return the keys numbered `start` to `stop`, in the order of the set."""
        return [key for key, _ in self._opened.iterate(start, stop)]

    def number(self, key: str) -> int:
        """Return the number of a key, from 0, in the order of the set."""
        return number_of(self._opened, key)

    def numbers(self, origin: str) -> range:
        """Return the numbers of all keys of one origin, such as ``"gen[0]"``."""
        return numbers_from(self._opened, origin)

    def children(self, path: str = "", start: int = 0, stop: int | None = None) -> Page:
        """Return one page of one tree level; ``""`` is the root."""
        return self._opened.page(path, start, stop)

    def node(self, path: str) -> Node:
        """Return the row of the tree for a path."""
        return self._opened.node(path)

    def position(self, path: str) -> int:
        """Return the place of a path among its siblings, from 0."""
        return self._opened.position(path)

    def parent(self, path: str) -> str:
        """Return the folder under which the tree shows a path."""
        return self._opened.parent(path)

    def find(
        self,
        pattern: str,
        *,
        mode: str = "glob",
        kind: Kind | str | Iterable[Kind | str] | None = None,
        targets: bool = False,
    ) -> Iterator[str]:
        """Yield the keys that match, lazily, in the order of the set.

        Parameters
        ----------
        pattern
            Pattern to search for; ``*`` in a glob also matches slashes.
        mode
            ``"glob"``, ``"regex"`` or ``"substring"``.
        kind
            One kind or several; None means all.
        targets
            Also yield the keys whose target matches, after the others; generated keys are not
            searched for this.

        Raises
        ------
        RefexplorerError
            If the mode or kind is unknown, the pattern holds half a surrogate pair, or the regular
            expression cannot be read or is none of RE2's, which knows no look-around and no back
            references.
        LimitError
            After all that was found, if a gen item makes more keys than are searched.
        """
        if any("\ud800" <= letter <= "\udfff" for letter in pattern):
            raise RefexplorerError(
                "The pattern contains an unpaired surrogate, which no key contains."
            )
        return find_keys(self._internals.opened, pattern, mode, _kinds(kind), targets)

    def summary(self, path: str = "") -> Summary:
        """Count kinds, bytes, targets and missing chunks below a path; ``""`` is the whole set."""
        return self._internals.counts(path)

    def arrays(self) -> tuple[str, ...]:
        """Return the paths of all arrays whose metadata can be read."""
        return self._opened.arrays.paths

    def array(self, path: str) -> ArrayMeta:
        """Return the metadata of the array at a path."""
        array = self._opened.arrays.get(path)
        if array is None:
            raise MissingError(path, f"{self.source.name} has no array {path!r}{self._near(path)}.")
        return array

    def check_path(self, path: str) -> None:
        """Raise an error if nothing is at a path: no key, folder, array or rejected key.

        Raises
        ------
        MissingError
            With similar names.
        """
        if path and self.rejection(path) is None:
            try:
                self.node(path)
            except KeyError:
                sentence = f"{self.source.name} has nothing at {path!r}{self._near(path)}."
                raise MissingError(path, sentence) from None

    def _is_array(self, path: str) -> bool:
        return self._opened.arrays.get(path) is not None

    def _near(self, path: str) -> str:
        """Return what is at a path in place of an array, or what is like it."""
        if path in self:
            owner = self.array_of(path)
            return f"; that is a key{'' if owner is None else f' of the array {owner[0]!r}'}"
        near = get_close_matches(path, self.arrays()[:_COMPARED], _SIMILAR)
        return f"; similar: {', '.join(map(repr, near))}" if near else ""

    def array_of(self, key: str) -> tuple[str, tuple[int, ...]] | None:
        """Return the path of the array that a key is a chunk of, and the chunk's index."""
        owner = self._opened.arrays.of_key(key)
        return None if owner is None else (owner[0].path, owner[1])

    def chunk_grid(self, path: str) -> ChunkReferences:
        """Return the references of the array at a path, on the grid of its chunks."""
        return ChunkReferences(self._opened, self.array(path))

    def targets(self, start: int = 0, stop: int | None = None) -> list[TargetSummary]:
        """Return the targets numbered `start` to `stop`, in the order of the set."""
        targets = self._internals.target_index.targets(start, stop)
        if (facts := self.source.repository) is None:
            return targets
        return [replace(each, kind=facts.kind_of(each.url or "")) for each in targets]

    def layout(self, url: str | None) -> TargetLayout:
        """Return which byte ranges of a target are referenced, and by which keys."""
        return self._internals.target_index.layout(url)

    def origin(self, key: str) -> str:
        """Return where a key comes from: ``"refs"``, ``"gen[0]"`` or ``"parquet"``."""
        entry = self._opened.lookup(key)
        if entry is None:
            raise KeyError(key)
        return entry[0].origin

    def explain(self, key: str) -> Trace:
        """Trace a key from its entry, gen item or record over each template to the reference.

        Its target is not read; `trace` continues to the values.
        """
        from refexplorer.io.reading.trace import Trace

        steps = derive(self._opened, key, self.source, self._base, self.templates, self.limits)
        return Trace(key, tuple(steps), self.origin(key), self[key])

    @cached_property
    def _locate(self) -> Locator | None:
        """A function that finds a pointer in the text, and walks through no part of it twice."""
        return locator_of(self.source)

    @property
    def _base(self) -> str:
        """The start of the pointer of an explicit key."""
        return ZMETADATA if self.source.form == "parquet" else self.source.key_base

    __eq__ = object.__eq__  # comparing every key would never end for a large gen
    __hash__ = object.__hash__


def _instead(path: str) -> str:
    """Return what to use in place of the path of an array as a key."""
    return (
        f"{path!r} is an array, and references are those of its chunks: "
        f"refs.read({path!r}) reads values, refs.array({path!r}) is its metadata, "
        f"refs.chunk_grid({path!r}) has the references."
    )


def _kinds(kind: Kind | str | Iterable[Kind | str] | None) -> tuple[Kind, ...]:
    kinds = (kind,) if isinstance(kind, str) else tuple(kind or ())
    for unknown in set(kinds).difference(Kind):
        raise RefexplorerError(
            f"{unknown!r} is not a kind of reference; use one of {', '.join(Kind)}."
        )
    return tuple(map(Kind, kinds))
