"""The Zarr store of a reference set; apart from the rest, since Zarr takes long to import."""

from __future__ import annotations

from collections.abc import AsyncIterator

from zarr.storage import FsspecStore


class ReferenceStore(FsspecStore):
    """`FsspecStore` that lists groups below the root of a file system without a root folder."""

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names right below a path; Zarr's own gives whole paths here."""
        try:
            names = await self.fs._ls(prefix.strip("/"), detail=False)
        except FileNotFoundError:
            return
        for name in names:
            yield name.rpartition("/")[2]
