"""`history`: the branches, tags and snapshots of an Icechunk repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refexplorer.errors import SourceError
from refexplorer.formats.files.local_files import OwnFiles
from refexplorer.formats.forms.form import OpeningTerms
from refexplorer.formats.icechunk.history import RepositoryHistory
from refexplorer.formats.icechunk.repository import lent
from refexplorer.limits import DEFAULT_LIMITS
from refexplorer.referenceset import ReferenceSet


def history(
    source: object, *, storage_options: Mapping[str, Any] | None = None
) -> RepositoryHistory:
    """Open the history of an Icechunk repository; no reference is read.

    Parameters
    ----------
    source
        A path or URL, with or without ``@`` and a version, a ``Repository``, ``Session`` or store,
        or a `ReferenceSet` that was opened from one of these.
    storage_options
        As for `open_references`; of a `ReferenceSet` its own by default.

    Raises
    ------
    SourceError
        If it is no repository, or is not known by a session alone.
    """
    if isinstance(source, ReferenceSet):
        storage_options = storage_options or source.storage_options
        name, source = source.source.name, source.source.place
    else:
        name = str(source)
    terms = OpeningTerms(DEFAULT_LIMITS, OwnFiles(), options=storage_options or {})
    options = terms.options_of(source) if isinstance(source, str) else terms.options
    found = None if source is None else lent(source, options, terms.limits, terms.files)
    if found is None:
        raise SourceError(f"{name} is no Icechunk repository, and nothing else has a history.")
    with found as opened:
        if opened.repository is None:
            raise SourceError(
                "A session alone does not tell its history; pass its repository, or a path or URL."
            )
        return RepositoryHistory(opened)
