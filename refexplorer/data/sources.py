"""Reading the reference set itself from a URL: one's own, or one that a visitor typed."""

from __future__ import annotations

import io
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from fsspec import AbstractFileSystem

from refexplorer.data.access import AccessPolicy
from refexplorer.data.background import wait_for
from refexplorer.data.failures import cause
from refexplorer.data.http import HttpReader
from refexplorer.data.options import Options
from refexplorer.data.remote import RemoteReader
from refexplorer.errors import AccessError, LimitError, SourceError

if TYPE_CHECKING:
    from refexplorer.data.places import Place
    from refexplorer.formats.source import Locate

Answer = TypeVar("Answer")


def guarded(policy: AccessPolicy, limit: int) -> Locate:
    """Return how a URL is read that somebody else chose: only where the policy allows.

    Redirects and the addresses of hosts are checked, too; stores are read anonymously.

    Parameters
    ----------
    policy
        What may be read.
    limit
        Most bytes of a file.
    """
    options = Options({}, None)

    def locate(url: str) -> tuple[AbstractFileSystem, str]:
        place = policy.place(url)
        if place.protocol in ("http", "https"):
            return _HttpFiles(policy, options, limit), place.url
        filesystem = wait_for(RemoteReader(policy, options).filesystem(place))
        return filesystem, filesystem._strip_protocol(place.url)

    return locate


class _HttpFiles(AbstractFileSystem):  # type: ignore[misc]
    """The files of HTTP servers, by their URLs, as far as a policy allows."""

    protocol = ("http", "https")
    cachable = False

    def __init__(self, policy: AccessPolicy, options: Options, limit: int) -> None:
        super().__init__()
        self._policy = policy
        self._reader = HttpReader(policy, options)
        self._limit = limit

    def info(self, path: str, **_: object) -> dict[str, Any]:
        """Return the size of a file."""
        place = self._policy.place(path)
        facts = self._asked(place, self._reader.facts(place))
        return {"name": path, "type": "file", "size": facts.size}

    def exists(self, path: str, **_: object) -> bool:
        """Find no parquet store, which is all that is asked: its files would have to be listed.

        Raises
        ------
        SourceError
            If the name is that of one.
        """
        if path.removesuffix("/.zmetadata").endswith((".parq", ".parquet", "/.zmetadata")):
            raise SourceError(
                f"{path} belongs to a parquet store, which a web server cannot list; open a copy "
                "on disk, or from a bucket."
            )
        return False

    def _open(self, path: str, mode: str = "rb", **_: object) -> io.BytesIO:
        place = self._policy.place(path)
        data = self._asked(place, self._reader.read(place, 0, None, self._limit))
        return io.BytesIO(data.cut())

    def _asked(self, place: Place, work: Coroutine[Any, Any, Answer]) -> Answer:
        try:
            return wait_for(work)
        except (AccessError, LimitError):
            raise
        except Exception as error:
            raise SourceError(f"{place.url} cannot be read: {cause(error, place)}.") from None

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path
