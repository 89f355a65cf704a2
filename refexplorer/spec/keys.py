"""Keys, URLs and JSON that readers, stores and file systems treat differently.

Source: RFC 3986 for URLs, RFC 8259 for JSON; the names that Windows, Linux and S3 refuse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import StrEnum

RESERVED = frozenset({"self"})
"""Names that jinja2 cannot be given, written in an expression or not."""
_KEYWORDS = frozenset(
    {
        "true", "false", "none", "True", "False", "None", "not", "and", "or", "if", "else", "in",
        "is",
    }
)  # fmt: skip


class NodeType(StrEnum):
    """The type of a row of the tree."""

    GROUP = "group"
    ARRAY = "array"
    FOLDER = "folder"
    KEY = "key"


def is_speakable(name: str) -> bool:
    """Say whether a name can be written in an expression."""
    return name.isidentifier() and name not in _KEYWORDS


MAX_DEPTH = 64
"""Folders above a key; below the last one its slashes are part of the name."""


def prefix(path: str) -> str:
    """Return the common start of the paths below a folder."""
    return path + "/" if path else ""


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders that a tree may have above a path, the nearest first, the root last.

    There are few of them, however many slashes the path has.
    """
    parts = path.split("/", MAX_DEPTH)
    for depth in range(len(parts) - 1, 0, -1):
        yield "/".join(parts[:depth])
    if path:
        yield ""


LONGEST_SEGMENT = 255
"""Bytes of a name that Linux, macOS and Windows take."""
_LONGEST_KEY = 1024
"""Bytes of a name in S3."""
ODD_IN_URL = re.compile(
    r"[ \\\\%#@<>|^`\"]|/\.\.?(?:/|$)|^[A-Za-z]:|^[a-z0-9+.\-]*[A-Z][A-Za-z0-9+.\-]*:"
    r"|^(?:[^h]|h[^t]).*\?|^file:(?:[^/]|/[^/]|//[^/])|^//|^https?:(?:[^/]|/[^/]|///)|:[0-9]{5}"
    r"|^[A-Za-z][A-Za-z0-9+.\-]*:(?:[^/]|$|/(?:[^/]|$))"
)
"""A URL that `unportable_url` may have something to say about; RE2 and `re` read it alike."""
_PROTOCOL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_WEB = frozenset({"http", "https"})
_UNESCAPED = re.compile(r"[ <>\"\\^`|]|[^\x00-\x7f]")
_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_DOTS = re.compile(r"/\.\.?(?:/|$)")
_PORT = re.compile(r"://[^/]*:([0-9]+)(?:/|$)")
_NO_FILE_NAME = re.compile(r"[<>:\"|?*\\#%]")
_BLANK_ENDS = re.compile(r"(?:^|/) | (?:/|$)|[^/.]\.(?:/|$)")


def unportable_key(key: str) -> str:
    """Say why not every store takes a key; an empty text if each does."""
    if not key.isascii():
        return "The key is not ASCII: Zarr v2 allows no such key, and stores differ in its form."
    if len(key) > _LONGEST_KEY:
        return f"The key has {len(key):,} bytes; object stores take {_LONGEST_KEY:,}."
    if len(key) > LONGEST_SEGMENT and max(map(len, key.split("/"))) > LONGEST_SEGMENT:
        return (
            f"A name in the key has more than {LONGEST_SEGMENT} bytes, which no file system takes."
        )
    if odd := _NO_FILE_NAME.search(key):
        return (
            f"The key contains {odd[0]!r}, which not every file system and URL can have in a name."
        )
    if _BLANK_ENDS.search(key):
        return "A name in the key has a space at an end, or a dot at its end, which Windows drops."
    return ""


def unportable_url(url: str) -> str:
    """Say what readers do not all make alike of a URL; an empty text if there is nothing."""
    match = _PROTOCOL.match(url)
    written = match[1] if match else ""
    protocol = written.lower()
    if len(written) == 1:
        return "The URL begins with a drive letter of Windows, which readers take for a protocol."
    if written != protocol:
        return f"fsspec knows the protocol as {protocol!r}, in lower case, only."
    if _DOTS.search(url):
        return "The URL has dotted segments, which some readers resolve and others keep."
    if protocol in _WEB:
        return _odd_on_the_web(url)
    if protocol == "file" and not url.startswith("file:///"):
        return "Readers differ in what is local here; write file:/// and the absolute path."
    if url.startswith("//"):
        return "The URL begins with //, which readers of URLs take for a host."
    if "\\" in url:
        return "The URL contains a backslash, which some readers take for a slash."
    if odd := next((mark for mark in "%#?" if mark in url), None):
        return (
            f"The URL contains {odd!r}, which is part of a name for fsspec, and the mark of an "
            "escape, a query or a fragment for others."
        )
    return ""


def _odd_on_the_web(url: str) -> str:
    host = url.partition("://")[2].partition("/")[0].partition("?")[0]
    port = _PORT.search(url)
    if not host or (port and int(port[1]) >= 2**16):
        return "The URL has no host, or a port that cannot be."
    if "@" in host:
        return "The URL holds a user name or password, which browsers refuse and others show."
    if _UNESCAPED.search(url):
        return (
            "The URL contains characters that have to be percent-encoded: some readers encode "
            "them, others send or refuse them."
        )
    if _NO_ESCAPE.search(url):
        return "A percent sign in the URL begins no escape: some readers encode it, others do not."
    if "#" in url:
        return "The URL has a fragment (#), which is not sent to the server."
    return ""


def odd_json(text: str) -> str:
    """Say why other parsers refuse or change a JSON text that Python reads; empty if none does."""
    found: list[str] = []

    def pairs(members: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(members)
        if len(made) < len(members):
            found.append("It has a name twice in one object: parsers keep the first, or the last.")
        return made

    def constant(name: str) -> float:
        found.append(
            f"It contains `{name}`, which is not JSON: JavaScript, among others, refuses it."
        )
        return float(name)

    if "NaN" not in text and "Infinity" not in text and "\\u" not in text and not _may_repeat(text):
        return ""
    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        found.append("It contains an unpaired surrogate, which many parsers refuse or replace.")
    except (ValueError, RecursionError):
        return ""
    return found[0] if found else ""


def _may_repeat(text: str) -> bool:
    """Say whether a name may stand twice in an object."""
    names = re.findall(r'"([^"\\]*)"\s*:', text)
    return len(names) > len(set(names))
