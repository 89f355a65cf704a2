"""The set that the set of an explorer is compared with, which all of its views share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from refexplorer.core.errors import RefexplorerError
from refexplorer.verbs.differing import Difference, diff
from refexplorer.verbs.opening import open_references

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

OtherProgress = Callable[[int, int], None]


class OpenOther(Protocol):
    """Opens what a person names."""

    def __call__(
        self, source: str, tell: OtherProgress, is_wanted: Callable[[], bool], /
    ) -> ReferenceSet:
        """Open it; `tell` takes how many bytes of how many were read."""


def _open_here(source: str, tell: OtherProgress, is_wanted: Callable[[], bool]) -> ReferenceSet:
    def told(done: int, size: int) -> None:
        if not is_wanted():
            raise RefexplorerError("The opening was stopped.")
        tell(done, size)

    return open_references(source, progress=told)


@dataclass(frozen=True)
class OtherSets:
    """The sets that a person may compare with."""

    open: OpenOther = _open_here  # Opens what is named
    # Titles of sets to choose from, by what names them
    offered: Callable[[], dict[str, str]] = dict
    # Allows what a person typed, where that is enough, as for the owner of a page
    consent: Callable[[str], None] = lambda source: None
    # Return where targets of an opened set may be read from, besides what was allowed before
    grants: Callable[[ReferenceSet], tuple[str, ...]] = lambda refs: ()


class Comparison:
    """Holds the other set, and the difference once it was asked for."""

    def __init__(
        self,
        references: ReferenceSet,
        other: ReferenceSet | None = None,
        sets: OtherSets | None = None,
    ) -> None:
        self._references = references
        self.other = other
        self.source = ""  # What a person named it by; empty where Python handed it over
        self.sets = sets
        self.found: Difference | None = None  # If it was looked for already
        self._lock = threading.Lock()
        self.changed: list[Callable[[], None]] = []

    def difference(self) -> Difference | None:
        """Return the difference; None if there is nothing to compare with."""
        with self._lock:
            if self.found is None and self.other is not None:
                self.found = diff(self.other, self._references)
            return self.found

    def compare(self, other: ReferenceSet | None, source: str = "") -> None:
        """Compare with another set, or with none."""
        with self._lock:
            self.other, self.found, self.source = other, None, source
        for tell in self.changed:
            tell()
