"""A set as the mapping that fsspec's own `ReferenceFileSystem` takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from refexplorer.spec.core.references import Reference, V0Value


class V0Mapping(Mapping[str, V0Value]):
    """Keys to what V0 writes for them, made when a key is asked for.

    For ``fsspec.filesystem("reference", fo=refs.v0, fs={"s3": …})``, which then asks nobody
    before it reads: see `refexplorer.data.open.filesystem` for ours.

    Parameters
    ----------
    references
        Any mapping of keys to references.
    """

    def __init__(self, references: Mapping[str, Reference]) -> None:
        self._references = references

    def __getitem__(self, key: str) -> V0Value:
        return self._references[key].to_v0()

    def __contains__(self, key: object) -> bool:
        return key in self._references

    def __iter__(self) -> Iterator[str]:
        return iter(self._references)

    def __len__(self) -> int:
        return len(self._references)
