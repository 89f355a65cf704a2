"""Icechunk repositories in a folder of this machine, and the objects that lead to one."""

from __future__ import annotations

from pathlib import Path

from refexplorer.formats.forms.form import OpeningTerms, SourceFolder, SourceForm
from refexplorer.formats.icechunk.objects import snapshot_of
from refexplorer.formats.icechunk.repository import is_repository, read_repository
from refexplorer.formats.source import Source


class IcechunkForm(SourceForm):
    """One snapshot of a repository; ``folder@v1`` is a branch, a tag or a snapshot."""

    name = "Icechunk"
    versioned = True
    guarded = True

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        """Read what a repository, session or store of the package icechunk leads to."""
        snapshot = snapshot_of(given)
        return None if snapshot is None else self._read(*snapshot, terms)

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        """Read a repository."""
        if folder.local is None or not is_repository(folder.local):
            return None
        return self._read(folder.local, folder.version, terms)

    def _read(self, path: Path, version: str | None, terms: OpeningTerms) -> Source:
        entries = read_repository(path, version, terms.limits, terms.files)
        whole = str(path.resolve())
        place = whole if version is None else f"{whole}@{version}"
        return Source(path.name, self.name, whole, entries=entries, place=place)
