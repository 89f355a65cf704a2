"""Icechunk repositories, wherever they are stored, and the objects that lead to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, BinaryIO

from refexplorer.errors import SourceError
from refexplorer.formats.forms.form import OpeningTerms, SourceFolder, SourceForm
from refexplorer.formats.icechunk.recorded import Recorded, recorded_versions
from refexplorer.formats.icechunk.repository import (
    OpenedVersion,
    folder_version,
    is_icechunk,
    is_repository,
    object_version,
    url_version,
)
from refexplorer.formats.icechunk.storage import MARKS
from refexplorer.formats.source import Source
from refexplorer.markup import escape


class IcechunkForm(SourceForm):
    """One snapshot of a repository; ``folder@v1`` is a branch, a tag or a snapshot."""

    name = "Icechunk"
    versioned = True
    guarded = True

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        """Read what a repository, session or store of the package icechunk leads to."""
        return _read(object_version(given), terms) if is_icechunk(given) else None

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        """Read a repository."""
        if folder.local is not None:
            if not is_repository(folder.local):
                return None
            opened = folder_version(folder.local, folder.version, terms.limits, terms.files)
            return _read(opened, terms)
        if not folder.is_sought or not any(map(folder.has, MARKS)):
            return None
        if terms.files.guarded:  # its package connects to servers by itself
            raise SourceError(
                f"{escape(folder.name)} is an Icechunk repository; this page opens those in the "
                "folders that it may read, and none by URL."
            )
        options = terms.options_of(folder.place)
        return _read(url_version(folder.place, folder.version, options), terms)


def _read(lent: AbstractContextManager[OpenedVersion], terms: OpeningTerms) -> Source:
    with lent as opened:
        entries, facts = opened.read(terms.limits, terms.files)
    return Source(
        opened.name,
        IcechunkForm.name,
        opened.place,
        entries=entries,
        place=opened.again,
        repository=facts,
        recorded=_recorded(opened, facts.snapshot, terms),
    )


def _recorded(
    opened: OpenedVersion, snapshot: str, terms: OpeningTerms
) -> Callable[[], Recorded] | None:
    """Return what reads the recorded versions of a snapshot, from where it can be opened again."""
    if opened.again is None or opened.place is None:
        return None
    limits, place = terms.limits, opened.place
    if opened.folder is not None:
        again = partial(folder_version, opened.folder, snapshot, limits, terms.files)
        opening = terms.files.open
    else:
        options = terms.options_of(place)
        again, opening = partial(url_version, place, snapshot, options), partial(_open, options)
    return partial(recorded_versions, again, partial(_manifest, place), limits, opening)


def _manifest(place: str, name: str) -> str:
    return f"{place}/manifests/{name}"


def _open(options: Mapping[str, Any], url: str) -> BinaryIO:
    """Open a file of a repository that Icechunk itself was allowed to open."""
    import fsspec

    filesystem, path = fsspec.core.url_to_fs(url, **options)
    opened: BinaryIO = filesystem.open(path, "rb")
    return opened
