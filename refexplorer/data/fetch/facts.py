"""The size and version that a store reports of a file, and whether they change."""

from __future__ import annotations

from dataclasses import dataclass

from refexplorer.data.access.urls import shown
from refexplorer.errors import FetchError

_SHOWN_TAG = 60


@dataclass(frozen=True, slots=True)
class Facts:
    """The size and version of a file, as its store reports them.

    Attributes
    ----------
    size
        In bytes; None if it does not say.
    etag, modified
        What changes with the content, as the store writes it.
    ranges
        Whether parts of the file can be asked for.
    """

    size: int | None
    etag: str | None = None
    modified: str | None = None
    ranges: bool = True


class Versions:
    """The versions of targets that were read; a target that changes in between is an error."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._sizes: dict[str, int] = {}

    def check(self, url: str, tag: str | None, size: int | None = None) -> None:
        """Compare the version of a target with that of the first read.

        Parameters
        ----------
        url
            The target.
        tag
            Its ETag, or what else changes with the content; None if the store tells nothing.
        size
            Of the whole file; None if the store does not tell.

        Raises
        ------
        FetchError
            If it is another one.
        """
        known = self._known.setdefault(url, tag) if tag else None
        if known is not None and known != tag:
            raise FetchError(
                f"the file changed while it was read (its version was {_cut(known)} and is "
                f"{_cut(tag)} now); open the set again to read the new file"
            )
        before = size if size is None else self._sizes.setdefault(url, size)
        if before != size:
            raise FetchError(
                f"the file changed while it was read (it had {before:,} bytes and has {size:,} "
                "now); open the set again to read the new file"
            )


def _cut(tag: str | None) -> str:
    return shown((tag or "").strip('"'), _SHOWN_TAG)
