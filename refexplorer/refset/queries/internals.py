"""The internals of a `ReferenceSet`, for code of this package that goes through all keys."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from refexplorer.refset.opened.contents import Contents
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.refset.queries.array_states import ArrayStates, array_states
from refexplorer.refset.search.key_search import KeySearch
from refexplorer.refset.segments.segment import Generated
from refexplorer.refset.targets.example_urls import example_urls
from refexplorer.refset.targets.target_index import TargetIndex
from refexplorer.spec.core.diagnostics import Findings
from refexplorer.spec.core.references import Reference
from refexplorer.spec.gen.item import GenItem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refexplorer.formats.source import Source
    from refexplorer.limits import Limits
    from refexplorer.refset.queries.summary import Summary
    from refexplorer.refset.tree.nodes import Page
    from refexplorer.spec.core.diagnostics import Diagnostic
    from refexplorer.spec.core.zarr_metadata import ArrayMeta


class Internals:
    """The contents of a set, and the indexes over them, which are built when first asked for."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self._page: tuple[tuple[int, int], list[tuple[str, Reference, str]]] | None = None

    @property
    def opened(self) -> OpenedSet:
        """The columns."""
        return self.contents.opened

    @property
    def findings(self) -> Findings:
        """The findings about everything that has been read so far."""
        return self.contents.findings

    @property
    def generated(self) -> tuple[GenItem, ...]:
        """The gen items that make keys, in the order of the document."""
        parts = self.opened.segments
        return tuple(part.item for part in parts if isinstance(part, Generated))

    @cached_property
    def search(self) -> KeySearch:
        """The keys as text to search in."""
        return KeySearch(self.opened)

    @cached_property
    def array_states(self) -> ArrayStates:
        """The chunks of each array by state."""
        return array_states(self.opened)

    @cached_property
    def target_index(self) -> TargetIndex:
        """All references by their targets; of very large gen items only the first ones."""
        return TargetIndex(self.opened)

    @cached_property
    def example_urls(self) -> tuple[str | None, ...]:
        """One target for each protocol, host and kind of path; None for those without a name."""
        return example_urls(self.opened)

    def entries_at(self, start: int, stop: int) -> list[tuple[str, Reference, str]]:
        """Return the keys numbered `start` to `stop`, each with its reference and origin."""
        if self._page is None or self._page[0] != (start, stop):
            found = [
                (key, reference, part.origin)
                for part, low, high in self.opened.intervals(start, stop)
                for key, reference in part.iterate(low, high)
            ]
            self._page = (start, stop), found  # the editor compares a page with the one after it
        return self._page[1]


class SetLike(Protocol):
    """What rooms on the left of `ReferenceSet` ask of an opened set, which has it all."""

    @property
    def _internals(self) -> Internals: ...

    @property
    def source(self) -> Source:
        """Where the set came from."""

    @property
    def limits(self) -> Limits:
        """The limits of reading it."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics."""

    def __getitem__(self, key: str, /) -> Reference:
        """Return the reference of a key; KeyError if there is none."""

    def get(self, key: str, /) -> Reference | None:
        """Return the reference of a key; None if there is none, or if a template fails for it."""

    def left_out(self, key: str) -> Diagnostic | None:
        """Return the error because of which a key of the source was rejected, or None."""

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""

    def __contains__(self, key: object, /) -> bool:
        """Whether there is such a key."""

    def children(self, path: str = "", start: int = 0, stop: int | None = None) -> Page:
        """Return a page of one level of the tree; KeyError if there is no such path."""

    def summary(self, path: str = "") -> Summary:
        """Count what is below a path."""

    def arrays(self) -> tuple[str, ...]:
        """Return the paths of all arrays."""

    def array_of(self, key: str) -> tuple[str, tuple[int, ...]] | None:
        """Return the array that a key is a chunk of, and the chunk's index."""

    def array(self, path: str) -> ArrayMeta:
        """Return the metadata of an array; KeyError if there is no such array."""


def internals(references: SetLike) -> Internals:
    """Return the internals of a set, which its public face does not show."""
    return references._internals
