"""Reading the bytes that references point to, one range at a time."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refexplorer.data.access import AccessPolicy
from refexplorer.data.failures import cause, too_long
from refexplorer.data.opened import Opened
from refexplorer.data.places import OBJECT_STORES, Place, protocol_of, shown
from refexplorer.errors import AccessError, DecodeError, FetchError, LimitError
from refexplorer.limits import Limits
from refexplorer.spec.references import Base64, Inline, Range, Reference

if TYPE_CHECKING:
    from refexplorer.data.http import HttpReader

StorageOptions = Mapping[str, Any]
"""Options for fsspec by protocol, ``{"s3": {"profile": "work"}}``; without a protocol they are
for that of the reference file."""

_ANONYMOUS: dict[str, dict[str, Any]] = {
    "s3": {"anon": True},
    "gs": {"token": "anon"},
    "az": {"anon": True},
    "abfs": {"anon": True},
}


class Targets:
    """Reads references; a filesystem is made only after the policy allowed its first target.

    Parameters
    ----------
    policy
        Says what may be read.
    storage_options
        By protocol. A protocol without options is read anonymously.
    limits
        `Limits.fetch_bytes` bounds one read.
    """

    def __init__(
        self, policy: AccessPolicy, storage_options: StorageOptions | None, limits: Limits
    ) -> None:
        self.policy = policy
        self._options = _by_protocol(storage_options or {}, policy.location)
        self._limit = limits.fetch_bytes
        self._readers: dict[str, Any] = {}

    def fetch(
        self, key: str, reference: Reference, start: int = 0, end: int | None = None
    ) -> bytes:
        """Return the bytes of a reference, or a slice of them (offsets count from its start).

        Raises
        ------
        AccessError
            If the target may not be read yet.
        FetchError
            If the target does not give these bytes; the text names key, URL, range, cause.
        DecodeError
            If base64 text is none.
        LimitError
            If more than `Limits.fetch_bytes` would be read.
        """
        if isinstance(reference, Inline | Base64):
            return _held(key, reference)[start:end]
        if reference.url is None:
            raise FetchError(f"{key} names no target: the reader has to be told which file it is.")
        if not isinstance(reference, Range):
            return self._read(key, reference.url, start, end)
        stop = reference.length if end is None else min(end, reference.length)
        if stop <= start:
            self.policy.check(reference.url)
            return b""
        return self._read(key, reference.url, reference.offset + start, reference.offset + stop)

    def _read(self, key: str, url: str, start: int, end: int | None) -> bytes:
        place = self.policy.place(url)
        if end is not None and end - start > self._limit:
            raise LimitError(
                f"{key} asks for {end - start:,} bytes of {shown(url)}, and one read may take "
                f"{self._limit:,} (limits: fetch_bytes)."
            )
        try:
            data = self._bytes(place, start, end)
        except AccessError:
            raise
        except Exception as error:
            kind = LimitError if isinstance(error, LimitError) else FetchError
            raise kind(f"{_what(key, url, start, end)}: {cause(error, place)}.") from error
        if end is not None and len(data) != end - start:
            raise FetchError(
                f"{_what(key, url, start, end)}: {len(data):,} of {end - start:,} bytes came; "
                "the range reaches past the end of the file."
            )
        return data

    def _bytes(self, place: Place, start: int, end: int | None) -> bytes:
        if place.protocol == "file":
            return _read_file(place.path, start, end, self._limit)
        if place.protocol in ("http", "https"):
            data: bytes = self._http(place.protocol).read(place.url, start, end, self._limit)
            return data
        stop = start + self._limit + 1 if end is None else end
        data = self._filesystem(place).cat_file(place.url, start=start, end=stop)
        if len(data) > self._limit:
            raise too_long(self._limit + 1, self._limit)
        return data

    def _http(self, protocol: str) -> HttpReader:
        from refexplorer.data.http import HttpReader

        if protocol not in self._readers:
            self._readers[protocol] = HttpReader(self.policy, self._options.get(protocol, {}))
        reader: HttpReader = self._readers[protocol]
        return reader

    def _filesystem(self, place: Place) -> Any:
        import fsspec

        fsspec.get_filesystem_class(place.protocol)
        if place.protocol not in OBJECT_STORES and place.host:
            for *_, address in socket.getaddrinfo(place.host, None):
                self.policy.check_address(place.protocol, place.host, str(address[0]))
        if place.protocol not in self._readers:
            options = self._options.get(place.protocol, _ANONYMOUS.get(place.protocol, {}))
            self._readers[place.protocol] = fsspec.filesystem(place.protocol, **options)
        return self._readers[place.protocol]


def fetch(
    refs: Opened,
    key: str,
    policy: AccessPolicy | None = None,
    storage_options: StorageOptions | None = None,
) -> bytes:
    """Return the bytes of one key.

    Raises
    ------
    KeyError
        If the set has no such key.
    RefexplorerError
        As `Targets.fetch`.
    """
    policy = policy or AccessPolicy(refs.source.location)
    return Targets(policy, storage_options, refs.limits).fetch(key, refs[key])


def _by_protocol(options: StorageOptions, location: str | None) -> dict[str, dict[str, Any]]:
    from fsspec import available_protocols

    protocols = set(available_protocols())
    if all(name in protocols and isinstance(options[name], Mapping) for name in options):
        return {name: dict(options[name]) for name in options}
    protocol = protocol_of(location) if location else None
    return {protocol: dict(options)} if protocol else {}


def _held(key: str, reference: Inline | Base64) -> bytes:
    try:
        return reference.data
    except ValueError as error:
        form = "base64" if isinstance(reference, Base64) else "text"
        raise DecodeError(f"{key} is not valid {form}: {error}.") from None


def _read_file(path: str, start: int, end: int | None, limit: int) -> bytes:
    """Read a range of a local file; what lies past its end is not asked for."""
    with Path(path).open("rb") as file:
        size = file.seek(0, 2)
        stop = size if end is None else min(end, size)
        if stop - start > limit:
            raise too_long(size, limit)
        file.seek(start)
        return file.read(max(stop - start, 0))


def _what(key: str, url: str, start: int, end: int | None) -> str:
    span = "" if end is None and not start else f", bytes {start:,} to "
    stop = "" if not span else "the end" if end is None else f"{end:,}"
    return f"{key} could not be read from {shown(url)}{span}{stop}"
