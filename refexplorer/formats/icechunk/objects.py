"""The location of the repository of an Icechunk object, where its manifests are.

The object itself tells its snapshot, but of its storage only what it writes into its pickle.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refexplorer.errors import SourceError

_KINDS = ("Repository", "Session", "ForkSession", "IcechunkStore")
_LOCAL = b"local_file_system_object_store_provider\xa4path"
_FIXED, _SHORT, _LONG = 0xA0, 0xD9, 0xDA
"""How a text of msgpack begins: with its length in this byte, in the next, or in the next two."""


def snapshot_of(source: object) -> tuple[Path, str] | None:
    """Return folder and snapshot id of a repository, session or store; None for other objects.

    Of a repository it is the snapshot that the branch ``main`` leads to.

    Raises
    ------
    SourceError
        If there is no branch ``main``, the repository is in no folder of this machine, or the
        session has changes that are not committed.
    """
    kind = type(source)
    if kind.__module__.partition(".")[0] != "icechunk" or kind.__name__ not in _KINDS:
        return None
    session = _session_of(source)
    if session.has_uncommitted_changes:
        raise SourceError("This Icechunk session has uncommitted changes.")
    return _folder(session), session.snapshot_id


def _session_of(source: Any) -> Any:
    import icechunk

    if not hasattr(source, "readonly_session"):
        return getattr(source, "session", source)
    try:
        return source.readonly_session("main")
    except icechunk.IcechunkError:
        raise SourceError(
            "This Icechunk repository has no branch main; pass a session of another branch or "
            'tag, such as repository.readonly_session("name").'
        ) from None


def _folder(session: Any) -> Path:
    _, found, text = session._session.as_bytes().partition(_LOCAL)
    if not found:
        raise SourceError(
            "Only Icechunk repositories in a local folder are read; the storage of this one is "
            "elsewhere."
        )
    return Path(_text(text).decode())


def _text(data: bytes) -> bytes:
    """Return the text of msgpack that bytes begin with."""
    at = {_SHORT: 2, _LONG: 3}.get(data[0], 1)
    size = int.from_bytes(data[1:at], "big") if at > 1 else data[0] - _FIXED
    return data[at : at + size]
