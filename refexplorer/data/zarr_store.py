"""The Zarr store of a reference set; apart from the rest, since Zarr takes long to import."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from zarr.storage import FsspecStore

from refexplorer.errors import RefexplorerError


class ReferenceStore(FsspecStore):
    """`FsspecStore` for references: its groups are listed, and its errors come as they are."""

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names right below a path; Zarr's own gives whole paths here."""
        try:
            names = await self.fs._ls(prefix.strip("/"), detail=False)
        except FileNotFoundError:
            return
        for name in names:
            yield name.rpartition("/")[2]

    async def get_ranges(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        """Yield parts of a shard; asked by those Zarrs that know the method.

        Raises
        ------
        RefexplorerError
            The first error of those that Zarr gives as a group.
        """
        try:
            parts = super().get_ranges(*arguments, **options)  # type: ignore[misc, unused-ignore]
            async for part in parts:
                yield part
        except BaseExceptionGroup as errors:
            ours = errors.subgroup(RefexplorerError)
            if ours is None:
                raise
            raise _first(ours) from None


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
