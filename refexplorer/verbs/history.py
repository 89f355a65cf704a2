"""`history`: the branches, tags and snapshots of an Icechunk repository.

`guarded_history` opens one that somebody else than who runs this process chose. `ask_history` asks
one in a child process, which loads nothing of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from refexplorer.core.errors import SourceError
from refexplorer.core.files import OwnFiles, Progress
from refexplorer.core.limits import DEFAULT_LIMITS, Limits
from refexplorer.formats.icechunk.history import RepositoryHistory
from refexplorer.formats.icechunk.repository import OpenedVersion, open_version
from refexplorer.formats.source import OpeningTerms
from refexplorer.verbs.referenceset import ReferenceSet

if TYPE_CHECKING:
    from refexplorer.io.access.policy import AccessPolicy


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
    context = OpeningTerms(DEFAULT_LIMITS, OwnFiles(), options=storage_options or {})
    options = context.options_of(source) if isinstance(source, str) else context.options
    version = (
        None if source is None else open_version(source, options, context.limits, context.files)
    )
    with _require_repository(version, name) as opened:
        return RepositoryHistory(opened)


@contextmanager
def guarded_history(
    source: str, policy: AccessPolicy, limits: Limits
) -> Iterator[RepositoryHistory]:
    """Lend the history of a repository that somebody else chose, as far as a policy allows."""
    from refexplorer.io.fetch.guarded import GuardedFiles

    version = None if "://" in source else open_version(source, {}, limits, GuardedFiles(policy))
    with _require_repository(version, source) as opened:
        yield RepositoryHistory(opened)


@contextmanager
def owned_history(place: str, options: Mapping[str, Any]) -> Iterator[RepositoryHistory]:
    """Lend the history of a repository that who runs this process opened."""
    yield history(place, storage_options=options)


def ask_history(
    open_history: Callable[[], AbstractContextManager[RepositoryHistory]],
    question: str,
    *arguments: object,
    progress: Progress | None = None,
) -> Any:
    """Return what a method of a history answers; the progress is that of openings in a child."""
    with open_history() as repository:
        return getattr(repository, question)(*arguments)


@contextmanager
def _require_repository(
    version: AbstractContextManager[OpenedVersion] | None, name: str
) -> Iterator[OpenedVersion]:
    if version is None:
        raise SourceError(f"{name} is no Icechunk repository, and nothing else has a history.")
    with version as opened:
        if opened.repository is None:
            raise SourceError(
                "A session alone does not tell its history; pass its repository, or a path or URL."
            )
        yield opened
