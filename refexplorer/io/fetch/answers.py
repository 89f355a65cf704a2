"""Responses: bytes in pieces, facts and versions of files, and the checks of HTTP responses.

A server may send a login page, compressed bytes or a different range with a status of success; used
as data they would be noise, or values of another chunk.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from codecs import getincrementaldecoder
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from refexplorer.core.errors import FetchError
from refexplorer.io.access import Place, shown
from refexplorer.io.fetch.failures import ChangedError

SELF_DESCRIBING = frozenset({"gzip", "x-gzip", "zstd"})  # Recognized by their first bytes
_NO_ENCODING = frozenset({"", "identity", "chunked", "aws-chunked"})
"""Encodings whose body is plain when read; some stores keep the last one from an upload."""
_PAGES = ("text/html", "application/xhtml+xml")
_PAGE_NAMES = (".html", ".htm", ".xhtml")
_DOCTYPE = b"<!doctype html"
HEAD = 2**14  # First bytes that show a web page, even after comments
START = 256  # First bytes that show most web pages, if nothing else is needed
TEXT = 512  # Bytes that distinguish numbers from text
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")
_PAGE_START = re.compile(
    rb"(?>\s+|<!--.*?-->|<\?xml.*?\?>)*+(<!doctype\s+html|<html|<head|<body)(?=[\s/>]|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_SHORTEST = 4  # First bytes that suffice in a short response
_SPAN = re.compile(r"bytes +([0-9]{1,20})-([0-9]{1,20})(?:/([0-9]{1,20}|\*))?", re.IGNORECASE)
_SHOWN = 60  # characters of a header: a server may send any text


class ContentRange(NamedTuple):
    """The part of a file that was received."""

    # first, end: Offsets in the file
    first: int
    end: int
    size: int | None  # Of the whole file; None if the server does not say


def check_encoding(name: str, header: str, allowed: frozenset[str] = frozenset()) -> None:
    """Reject bytes that are an encoding of the file instead of the file itself."""
    tokens = (token.strip().lower() for token in header.split(","))
    found = [token for token in tokens if token not in _NO_ENCODING]
    if found and (len(found) > 1 or found[0] not in allowed):
        raise FetchError(
            f"the server sent it encoded ({_named(name, header)}), not the bytes of the file itself"
        )


def check_type(headers: Mapping[str, str], place: Place) -> None:
    """Reject a web page, such as a login page, unless the target is named like one."""
    # Login and error pages are often sent with a status of success. A target whose path ends in
    # ``.html``, ``.htm`` or ``.xhtml`` may be a page; any other type is accepted, since many
    # servers have none for data.
    header = headers.get("Content-Type", "")
    kind = header.partition(";")[0].strip().lower()
    if kind in _PAGES and not place.path.lower().endswith(_PAGE_NAMES):
        raise FetchError(
            f"the server sent a web page ({_named('Content-Type', header)}) instead of the file, "
            "such as a login or error page"
        )


def check_start(head: bytes, place: Place) -> None:
    """Reject a web page without a content type, or with a generic one."""
    if place.path.lower().endswith(_PAGE_NAMES):
        return
    text = head.removeprefix(b"\xef\xbb\xbf")
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = text[2:].replace(b"\0", b"")
    found = _PAGE_START.match(text)
    begun = text.lower() if _SHORTEST <= len(text) < len(_DOCTYPE) else b""
    if found is not None or (begun and _DOCTYPE.startswith(begun)):
        start = (text if found is None else found[1]).decode("ascii", "replace")
        raise FetchError(
            f"the server sent a web page (it begins with {start}) instead of the file, such as a "
            "login or error page"
        )


def is_text(data: bytes) -> bool:
    """Return whether bytes may be from the middle of UTF-8 text without control characters."""
    inside = data[:3].lstrip(bytes(range(0x80, 0xC0))) + data[3:]
    try:
        getincrementaldecoder("utf-8")().decode(inside)
    except UnicodeDecodeError:
        return False
    return bool(data) and _CONTROL.search(data) is None


def part_of(headers: Mapping[str, str], start: int, end: int | None) -> ContentRange:
    """Return which part of a file a server sent; it may exceed the request."""
    kind = headers.get("Content-Type", "")
    if kind.lower().startswith("multipart/"):
        raise FetchError(
            f"the server sent several parts ({_named('Content-Type', kind)}), although one "
            "range was requested"
        )
    header = headers.get("Content-Range")
    if header is None:
        raise FetchError(
            "the server sent a part of the file without a Content-Range, so it is unknown "
            "which part"
        )
    return _covering(header, start, end)


def check_whole(headers: Mapping[str, str]) -> None:
    """Reject a 200 response whose header says that it is a part of a file."""
    header = headers.get("Content-Range")
    if header is None:
        return
    span = _range_in(header)
    if span is None or (span.first, span.end) != (0, span.size):
        raise FetchError(
            "the server answered 200 (the whole file), but with the range of a part "
            f"({_named('Content-Range', header)})"
        )


class TruncatedAnswer(FetchError):
    """A response has fewer bytes than announced, although its connection did not break."""


def check_body_length(span: ContentRange, length: int | None) -> None:
    """Reject a body whose length differs from its Content-Range; None if unknown."""
    if length is not None and length != span.end - span.first:
        kind = TruncatedAnswer if length < span.end - span.first else FetchError
        raise kind(
            f"the server sent {length:,} bytes, but its Content-Range has "
            f"{span.end - span.first:,} ({span.first:,} to {span.end:,})"
        )


def check_sent(header: str | None, start: int, end: int, length: int) -> int | None:
    """Reject an object store's response unless it is the range, as far as there is one."""
    size = length if header is None else None
    if header is None:
        is_asked = not start and length <= end
    else:
        span = _covering(header, start, end)
        check_body_length(span, length)
        is_asked, size = span.first == start and span.end <= end, span.size
    if not is_asked:
        raise FetchError("the store returned a different byte range from the requested one")
    return size


def _covering(header: str, start: int, end: int | None) -> ContentRange:
    span = _range_in(header)
    named = _named("Content-Range", header)
    if span is None:
        raise FetchError(
            f"the server sent a part of the file, and its range cannot be read ({named})"
        )
    if span.first >= span.end or (span.size is not None and span.end > span.size):
        raise FetchError(f"the server sent an invalid range ({named})")
    needed = span.end
    if span.size is not None:
        needed = span.size if end is None else min(end, span.size)
    if span.first > start or span.end < needed:
        raise FetchError(f"the server sent a different range from the requested one ({named})")
    return span


def _range_in(header: str) -> ContentRange | None:
    """Parse a Content-Range; None if invalid."""
    found = _SPAN.fullmatch(header.strip())
    if found is None:
        return None
    size = None if found[3] in (None, "*") else int(found[3])
    return ContentRange(int(found[1]), int(found[2]) + 1, size)


def _named(header: str, value: str) -> str:
    return f"{header}: {shown(value, _SHOWN)}"


_SHOWN_TAG = 60  # characters of an ETag: a server may send any text


@dataclass(frozen=True, slots=True)
class Facts:
    """The size and version of a file, as its store reports them."""

    size: int | None  # In bytes; None if the store does not report it
    # etag, modified: What changes with the content, as the store writes it
    etag: str | None = None
    modified: str | None = None
    ranges: bool = True  # Whether parts of the file can be requested
    # The ETag that Icechunk makes for a file on disk. It contains the inode number, so a copy has
    # a different one: nothing else compares it
    disk_tag: str | None = None


class Versions:
    """The versions of targets that were read; a target that changes in between is an error."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._sizes: dict[str, int] = {}

    def check(self, url: str, tag: str | None, size: int | None = None) -> None:
        """Compare the version of a target with that of the first read."""
        known = self._known.setdefault(url, tag) if tag else None
        if known is not None and known != tag:
            raise ChangedError(
                f"the file changed since its first read (its version was {_cut(known)} and is "
                f"{_cut(tag)} now); open the set again to read the new file"
            )
        before = size if size is None else self._sizes.setdefault(url, size)
        if before != size:
            raise ChangedError(
                f"the file changed since its first read (it had {before:,} bytes and has {size:,} "
                "now); open the set again to read the new file"
            )


def _cut(tag: str | None) -> str:
    return shown((tag or "").strip('"'), _SHOWN_TAG)


class ByteParts:
    """Received bytes in pieces: joining them before cutting would copy once more."""

    def __init__(self, pieces: list[bytes], size: int | None = None) -> None:
        self._pieces, self.size = pieces, size

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(map(len, self._pieces), initial=0))

    def cut(self, start: int = 0, stop: int | None = None) -> bytes:
        """Return the bytes from `start` to `stop`, or those that exist."""
        if len(self._pieces) == 1:
            return self._pieces[0][start:stop]
        size = self._starts[-1]
        stop = size if stop is None else min(stop, size)
        if start >= stop:
            return b""
        first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop) - 1
        views = [memoryview(piece) for piece in self._pieces[first : last + 1]]
        views[-1] = views[-1][: stop - self._starts[last]]
        views[0] = views[0][start - self._starts[first] :]
        return b"".join(views)
