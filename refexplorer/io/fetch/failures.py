"""Failed reads: their errors and sentences, and the time limit of a read."""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from refexplorer.core.errors import FetchError, InternalError, LimitError, RefexplorerError
from refexplorer.core.limits import is_out_of_memory
from refexplorer.core.text import ADVICE, EXTRAS, PACKAGES, missing_package
from refexplorer.io.access import Place, protocol_of, shown
from refexplorer.io.fetch.background import Stopped

if TYPE_CHECKING:
    from refexplorer.spec.findings import Finding

_HTTP = {
    401: "the server requires a login (401)",
    403: "the server denies access (403)",
    404: "there is no such file (404)",
    410: "the file is gone (410)",
    416: "the server refuses this byte range (416)",
    429: "the server limits the rate of requests (429)",
}
_DIGITS = 9  # Most digits of the seconds to wait
_BUGS = (TypeError, AttributeError, LookupError, NameError, AssertionError)
_CREDENTIALS = {
    "http": '{"headers": {"Authorization": …}}',
    "s3": '{"key": …, "secret": …}',
    "gs": '{"token": …}',
    "az": '{"account_name": …, "account_key": …}',
}
_CREDENTIALS |= {"https": _CREDENTIALS["http"], "abfs": _CREDENTIALS["az"]}
_CREDENTIALS |= dict.fromkeys(("ftp", "sftp", "ssh", "smb"), '{"username": …, "password": …}')


_NO_ENDPOINT = ("EndpointConnectionError", "ConnectTimeoutError")  # Of botocore


class TransientError(FetchError):
    """A temporary failure: the same request may succeed a little later."""

    wait = 0.0  # Seconds that the server asks to wait before


class TooLate(TransientError):
    """A read took longer than allowed."""

    count = 0  # Received bytes


class DeniedByServer(FetchError):
    """The store requires authentication."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.place = place


class NotFoundError(FetchError):
    """A web server has no such file (404)."""


class ChangedError(FetchError):
    """A file is no longer the one of which the first bytes were read."""


class ShortFileError(FetchError):
    """A file ends before the range does."""


def http_failure(status: int, reason: str | None, wait: float = 0.0) -> FetchError:
    """Return the failure for the status of an HTTP response."""
    words = _HTTP.get(status) or f"the server answered {status} {reason or ''}".rstrip()
    if status >= 500 or status == 429:
        asks = f" and asks to wait {math.ceil(wait):,} seconds" if wait else ""
        failure = TransientError(f"{words}{asks}")
        failure.wait = wait
        return failure
    kind: type[FetchError] = _KINDS.get(status, FetchError)
    return kind(words)


_KINDS = {401: DeniedByServer, 403: DeniedByServer, 404: NotFoundError}


def retry_after(text: str | None) -> float:
    """Return the seconds to wait according to ``Retry-After``: a number or a date."""
    text = (text or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:_DIGITS])
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    if until.tzinfo is None:  # it was written as -0000
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def cause(error: BaseException, place: Place, url: str = "") -> str:
    """Return the cause as the end of a sentence, without a full stop; `url` is as in the set."""
    if isinstance(error, FileNotFoundError | NotFoundError):
        words = str(error) if isinstance(error, NotFoundError) else "there is no such file"
        return words + _rename_advice(place, url)
    if isinstance(error, DeniedByServer | PermissionError):
        fact = str(error) if isinstance(error, DeniedByServer) else "access is denied"
        return f"{fact}{_advice(getattr(error, 'place', None) or place)}"
    if isinstance(error, RefexplorerError):
        return str(error)
    if isinstance(error, Stopped):
        return "the read was stopped"
    if lacks_credentials(error):
        return f"no credentials were found{_advice(place)}"
    if isinstance(error, ImportError):
        return missing_package(place.protocol) or f"{error}".rstrip(".")
    if is_out_of_memory(error):
        return "there is not enough memory"
    if isinstance(error, IsADirectoryError):
        return "it is a folder, not a file"
    if isinstance(error, ValueError) and "Protocol not known" in str(error):
        return f"no installed package reads {place.protocol}:// URLs"
    return connection_failure(error, place) or _plain(error)


def is_denied(error: BaseException) -> bool:
    """Return whether a store requires a login, so that nothing is known about the file."""
    return isinstance(error, DeniedByServer | PermissionError) or lacks_credentials(error)


def lacks_credentials(error: BaseException) -> bool:
    """Return whether botocore or google.auth found no credentials to sign a request with."""
    return type(error).__name__ in ("NoCredentialsError", "DefaultCredentialsError")


def require_packages(places: Iterable[str]) -> None:
    """Reject allowed buckets that no installed package can read."""
    for name in places:
        protocol = protocol_of(name) or ""
        if protocol in EXTRAS and find_spec(PACKAGES[protocol]) is None:
            raise FetchError(f"{shown(name)} cannot be read: {missing_package(protocol)}.")


def _rename_advice(place: Place, url: str) -> str:
    """Return where a relative URL was searched, and how to set another folder."""
    if not url or protocol_of(url) is not None or url.startswith("/"):
        return ""
    start = url.rpartition("/")[0] + "/" if "/" in url else url
    new = "FOLDER/" if "/" in url else f"FOLDER/{url}"
    where = "" if place.is_hidden else f" in {shown(place.url.rpartition('/')[0])}"
    return f"{where}{ADVICE}convert the set with --rename {shown(start)}={shown(new)}"


def _plain(error: BaseException) -> str:
    """Return the text of an error, without class names if there is other text."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    text = text.strip().partition("\n")[0].rstrip(". :")
    name = type(error).__name__
    if isinstance(error, _BUGS):
        return f"reading failed unexpectedly ({name}: {text})"
    return text or f"reading failed without a message ({name})"


def connection_failure(error: BaseException, place: Place) -> str | None:
    """Return a description of a connection failure; None for another error."""
    if type(error).__name__ in _NO_ENDPOINT:
        name = f"{place.protocol}://{place.authority}"
        option = f'storage_options={{"{name}": {{"endpoint_url": …}}}}'
        asked = urlsplit(str(getattr(error, "kwargs", {}).get("endpoint_url", "")))
        server = asked.netloc.rpartition("@")[2] or f"the server of {name}"
        return f"no connection to {server} could be made; {option} sets another server"
    return _connection(error, place)


def _connection(error: BaseException, place: Place) -> str | None:
    import aiohttp

    requests: Any = sys.modules.get("requests.exceptions")  # some file systems use it
    if requests is not None and isinstance(error, requests.ConnectionError):
        return f"no connection to {place.authority} could be made"
    if isinstance(error, socket.gaierror | aiohttp.ClientConnectorDNSError):
        host = f"host {place.host}" if place.host else f"server of {place.protocol}:// files"
        return f"the {host} cannot be found; check its name and the network connection"
    if isinstance(error, UnicodeError | aiohttp.InvalidURL):
        return f"{place.host} is not a valid host name"
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return f"no secure connection to {place.authority} could be made ({_tls(error)})"
    if isinstance(error, TimeoutError):
        return "the server did not answer in time"
    if isinstance(error, aiohttp.ClientConnectorError | ConnectionRefusedError):
        return f"no connection to {place.authority or place.path} could be made"
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ClientConnectionError):
        return "the connection ended before all bytes arrived"
    if isinstance(error, EOFError) or (isinstance(error, ConnectionError) and error.errno):
        return "the connection ended before all bytes arrived"
    if isinstance(error, aiohttp.ClientResponseError):
        return "the server sent an answer that is not valid HTTP"
    return None


def _tls(error: BaseException) -> str:
    """Return OpenSSL's reason, such as ``"self-signed certificate"``."""
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
    text = getattr(inner, "verify_message", "") or getattr(inner, "reason", "") or str(inner)
    return str(text).replace("_", " ").lower().splitlines()[0]


def _advice(place: Place) -> str:
    """Return which option would help, if there is one."""
    options = _CREDENTIALS.get(place.protocol)
    if options is None:
        return ""
    name = f"{place.protocol}://{place.authority}"
    return f'; storage_options={{"{name}": {options}}} gives credentials'


def too_long(size: int, limit: int, ranges: bool = True) -> LimitError:
    """Return an error that more was, or would be, received than one read may take."""
    if not ranges:
        return LimitError(
            "the server does not support byte ranges, so the file has to be read from its start, "
            f"{size:,} bytes up to here, more than the limit of {limit:,} for one read "
            f"(`Limits.fetch_bytes`)"
        )
    return LimitError(
        f"it has {size:,} bytes or more, above the limit of {limit:,} for one read "
        f"(`Limits.fetch_bytes`)"
    )


def rejection_text(error: Finding) -> str:
    """Return a sentence on why a key of the source is not in the set."""
    return f"The reference of {error.key} cannot be used: {error}"


SLOWEST = 2**12  # Bytes in a second that are worth waiting for
_STEP = 0.1  # Seconds between two changes of the time; most reads take less, and need none
_read_time: ContextVar[ReadTime | None] = ContextVar("read_time", default=None)


class NoReference(FileNotFoundError):
    """The set has no reference for a key: the only error that Zarr may turn into a fill value."""


@contextmanager
def as_internal_error(what: str) -> Iterator[None]:
    """Convert bugs into `InternalError`: Zarr takes `KeyError` for a missing chunk."""
    # Zarr and fsspec's mapper interpret `KeyError` and `FileNotFoundError`, whatever raised them,
    # as "no such chunk", so a bug would read as a fill value.
    try:
        yield
    except (NoReference, RefexplorerError, Stopped):
        raise
    except Exception as error:
        raise internal_error(what, error) from error


def internal_error(what: str, error: Exception) -> InternalError:
    """Return the text for an error that only a bug can raise."""
    cause = f"{type(error).__name__}: {error}"
    return InternalError(
        f"Reading {what} failed inside refexplorer ({cause}); this is a bug, please report it."
    )


class ReadTime:
    """The time limit of one read with its retries; received bytes extend it, up to `SLOWEST`."""

    # Received bytes extend the limit by the time they took, at most that at the rate `SLOWEST`:
    # large files may take long, but a server that stalls, or sends a byte now and then, ends the
    # read.

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(seconds)
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._count = self._new = 0
        self._token: Token[ReadTime | None]

    async def __aenter__(self) -> None:
        self._token = _read_time.set(self)
        await self._timeout.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _read_time.reset(self._token)
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            late = TooLate(
                f"there was no complete answer within {self._seconds:,g} seconds, retries included "
                "(`Limits.read_seconds`)"
            )
            late.count = self._count
            raise late from None

    def add(self, count: int) -> None:
        """Record received bytes."""
        self._count += count
        self._new += count
        now = self._loop.time()
        when = self._timeout.when()
        if now - self._last < _STEP or when is None or self._timeout.expired():
            return
        self._timeout.reschedule(when + min(now - self._last, self._new / SLOWEST))
        self._last, self._new = now, 0


def note_bytes(count: int) -> None:
    """Record received bytes for the current read."""
    read_time = _read_time.get()
    if read_time is not None:
        read_time.add(count)
