"""A reference set as a file system.

fsspec's own `ReferenceFileSystem` works with `refs.to_v0()`, but it lists by visiting every key,
chooses file systems without asking, hides errors in its own, and searches all requests for each
range. This one lists one level at a time, so that 10^12 generated keys stay lazy, and reads
through `Targets`, so that nothing is read without permission and no failure is treated as a
missing chunk (which Zarr would fill).
"""

from __future__ import annotations

import io
from typing import Any

from fsspec import AbstractFileSystem

from refexplorer.core.errors import DecodeError, FetchError
from refexplorer.io.decode.codecs import METADATA_NAMES, refuse_unsafe
from refexplorer.io.fetch.failures import NoReference, as_internal_error
from refexplorer.io.fetch.many import fetch_many
from refexplorer.io.fetch.targets import Targets, reference_of
from refexplorer.refset.opened_set import SetLike
from refexplorer.spec.references import Reference


class ReferenceFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """A read-only file system whose files are the keys of a reference set.

    Parameters
    ----------
    refs
        The opened set; it is queried for one key or one page of a level at a time.
    targets
        Reads the bytes.
    """

    protocol = "refexplorer"
    cachable = False

    def __init__(self, refs: SetLike, targets: Targets) -> None:
        super().__init__()
        self.references, self.targets = refs, targets

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: object
    ) -> bytes:
        """Return the bytes of a key, or a slice of them; negative offsets count from its end.

        Raises
        ------
        NoReference
            If the set has no such key; Zarr then uses the fill value.
        RefexplorerError
            If the bytes of an existing key cannot be read.
        """
        key = self._strip_protocol(path)
        with as_internal_error(key):
            return read_key(self.references, self.targets, key, start, end)

    def cat(
        self, path: str | list[str], recursive: bool = False, on_error: str = "raise", **_: object
    ) -> Any:
        """Return the bytes of a key, or of a list of keys by key; adjacent ranges are merged.

        Parameters
        ----------
        path
            A list is read with several requests at a time.
        recursive
            Must be False.
        on_error
            ``"raise"``, ``"omit"`` or ``"return"`` (the error, in place of the bytes).
        """
        if recursive:
            raise NotImplementedError("a reference set cannot be read as one file")
        if isinstance(path, str):
            return self.cat_file(path)
        with as_internal_error(f"{len(path):,} keys"):
            found = self._cat_many({each: self._strip_protocol(each) for each in path})
        failed = {each: data for each, data in found.items() if isinstance(data, Exception)}
        if failed and on_error == "raise":
            raise next(iter(failed.values()))
        return {
            each: data for each, data in found.items() if on_error != "omit" or each not in failed
        }

    def _cat_many(self, keys: dict[str, str]) -> dict[str, bytes | Exception]:
        """Return the bytes or the error for each path; a path may be spelt in two ways."""
        references: dict[str, Reference] = {}
        found: dict[str, bytes | Exception] = {}
        for key in keys.values():
            try:
                references[key] = reference_of(self.references, key)
            except (NoReference, FetchError) as error:
                found[key] = error
        found |= fetch_many(self.targets, references)
        return {path: _safe(key, found[key]) for path, key in keys.items()}

    def exists(self, path: str, **_: object) -> bool:
        """Return whether there is a key or a folder; other errors are raised."""
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def info(self, path: str, **_: object) -> dict[str, Any]:
        """Describe a key or a folder; the size of a whole file is None, as it is not requested."""
        key = self._strip_protocol(path)
        if key in self.references:
            return {"name": key, "type": "file", "size": reference_of(self.references, key).size}
        try:
            self.references.children(key, 0, 0)
        except KeyError:
            raise FileNotFoundError(key) from None
        return {"name": key, "type": "directory", "size": 0}

    def ls(self, path: str, detail: bool = True, **_: object) -> list[Any]:
        """List one level."""
        key = self._strip_protocol(path)
        try:
            nodes = self.references.children(key).rows
        except KeyError:
            raise FileNotFoundError(key) from None
        if not detail:
            return [node.path for node in nodes]
        return [
            {"name": node.path, "type": "directory" if node.children else "file", "size": node.size}
            for node in nodes
        ]

    def _open(self, path: str, mode: str = "rb", **_: object) -> io.BytesIO:
        if mode != "rb":
            raise OSError("a reference set is read-only")
        return io.BytesIO(self.cat_file(path))

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix("refexplorer://").strip("/")


def read_key(
    refs: SetLike, targets: Targets, key: str, start: int | None = None, end: int | None = None
) -> bytes:
    """Return the bytes of a key, or a slice of them; errors as for `cat_file`, or from bugs."""
    reference = reference_of(refs, key)
    is_from_end = (start or 0) < 0 or (end or 0) < 0
    if is_from_end and reference.size is not None:
        start, end, _ = slice(start, end).indices(reference.size)
        end, is_from_end = max(start, end), False
    if is_from_end:
        return targets.fetch(key, reference)[start:end]
    data = targets.fetch(key, reference, start or 0, end)
    if key.rpartition("/")[2] in METADATA_NAMES:
        refuse_unsafe(key, data)
    return data


def _safe(key: str, data: bytes | Exception) -> bytes | Exception:
    """Return the bytes, or the error if they name a codec that is never run."""
    if isinstance(data, bytes) and key.rpartition("/")[2] in METADATA_NAMES:
        try:
            refuse_unsafe(key, data)
        except DecodeError as error:
            return error
    return data
