"""The keys that refer to a target, written out where they are looked at."""

from __future__ import annotations

from collections.abc import Sequence

from refexplorer.refset.targets import TargetIndex


class TargetKeys(Sequence[str]):
    """The keys of the references to a target, by their offsets."""

    def __init__(self, index: TargetIndex, url: str | None) -> None:
        self._index = index
        self._parts, self._rows = index.located(url)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int | slice) -> str | list[str]:  # type: ignore[override]
        if isinstance(place, slice):
            return self._index.keys(self._parts[place], self._rows[place])
        return self[place : place + 1][0]
