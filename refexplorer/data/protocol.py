"""The interface of an opened set that this room uses; `ReferenceSet`, further right, has it all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from refexplorer.refset.queries.internals import Backed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refexplorer.formats.source import Source
    from refexplorer.limits import Limits
    from refexplorer.refset.tree.nodes import Page
    from refexplorer.spec.core.diagnostics import Diagnostic
    from refexplorer.spec.core.references import Reference
    from refexplorer.spec.core.zarr_metadata import ArrayMeta


class Opened(Backed, Protocol):
    """An opened reference set: a mapping of keys to references with a tree and arrays."""

    @property
    def source(self) -> Source:
        """Where the set came from."""

    @property
    def limits(self) -> Limits:
        """The limits of reading it."""

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

    def arrays(self) -> tuple[str, ...]:
        """Return the paths of all arrays."""

    def array_of(self, key: str) -> tuple[str, tuple[int, ...]] | None:
        """Return the array that a key is a chunk of, and the chunk's index."""

    def array(self, path: str) -> ArrayMeta:
        """Return the metadata of an array; KeyError if there is no such array."""
