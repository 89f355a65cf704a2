"""The part of a `ReferenceSet` that reads targets: what it takes, and what may be read."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from refexplorer.errors import LeftOutWarning
from refexplorer.spec.catalogue import Severity
from refexplorer.spec.references import Reference, V0Value

if TYPE_CHECKING:
    import xarray
    import zarr

    from refexplorer.data.filesystem import ReferenceView
    from refexplorer.formats.source import Source
    from refexplorer.limits import Limits
    from refexplorer.refset.tree import Page
    from refexplorer.spec.arrays import ArrayMeta
    from refexplorer.spec.diagnostics import Findings


class ReadableSet(Mapping[str, Reference]):
    """A reference set whose targets can be read; `ReferenceSet` is the one that people hold.

    Every method takes ``allow``, what may be read besides the folder of the reference file (such
    as ``"s3://bucket"``), and ``storage_options``, options for fsspec by protocol, in place of
    those that the set was opened with.
    """

    source: Source
    limits: Limits
    storage_options: dict[str, Any]
    _findings: Findings

    @abstractmethod
    def children(self, path: str = "", start: int = 0, stop: int | None = None) -> Page:
        """Return one page of one tree level."""

    @abstractmethod
    def arrays(self) -> tuple[str, ...]:
        """Return the paths of all arrays."""

    @abstractmethod
    def array(self, path: str) -> ArrayMeta:
        """Return the metadata of an array."""

    @abstractmethod
    def array_of(self, key: str) -> tuple[str, tuple[int, ...]] | None:
        """Return the path of the array that a key is a chunk of, and the chunk's index."""

    @property
    def v0(self) -> Mapping[str, V0Value]:
        """The set as V0, made key by key: the ``fo`` of fsspec's ``ReferenceFileSystem``."""
        from refexplorer.data.mapping import V0Mapping

        return V0Mapping(self)

    def filesystem(
        self, *, allow: Collection[str] = (), storage_options: Mapping[str, Any] | None = None
    ) -> ReferenceView:
        """Return an fsspec filesystem over the keys; see `refexplorer.data.filesystem`."""
        from refexplorer.data.filesystem import filesystem

        self._warn_of_errors()
        return filesystem(self, allow=allow, storage_options=self._options(storage_options))

    def to_zarr(
        self, *, allow: Collection[str] = (), storage_options: Mapping[str, Any] | None = None
    ) -> zarr.Group | zarr.Array[Any]:
        """Return a read-only zarr group or array; only metadata is read now."""
        from refexplorer.data.stores import to_zarr

        self._warn_of_errors()
        return to_zarr(self, allow=allow, storage_options=self._options(storage_options))

    def to_xarray(
        self,
        *,
        allow: Collection[str] = (),
        storage_options: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> xarray.Dataset:
        """Return a dataset; see `refexplorer.data.to_xarray` for what is read now."""
        from refexplorer.data.stores import to_xarray

        self._warn_of_errors()
        options = self._options(storage_options)
        return to_xarray(self, allow=allow, storage_options=options, **keywords)

    def _warn_of_errors(self) -> None:
        """Warn that left-out keys will read as the fill value, as keys that never were."""
        errors = sum(found.count for found in self._findings if found.severity is Severity.ERROR)
        if errors:
            warnings.warn(
                f"{self.source.name} has {errors:,} errors; what they left out reads as the fill "
                "value. See `diagnostics`.",
                LeftOutWarning,
                stacklevel=3,
            )

    def _options(self, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
        return self.storage_options if given is None else given
