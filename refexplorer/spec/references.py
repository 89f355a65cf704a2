"""Keys and references: keys that readers treat differently; the four kinds of reference.

Source: kerchunk's reference specification, "Version 0".
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from refexplorer.core.limits import MOST_BYTES, Limits
from refexplorer.core.text import integer_text, masks_repr
from refexplorer.spec.findings import Problem

RESERVED = frozenset({"self"})  # Names that cannot be passed to jinja2
_KEYWORDS = frozenset({
    "true", "false", "none", "True", "False", "None", "not", "and", "or", "if", "else", "in", "is",
})  # fmt: skip


class NodeType(StrEnum):
    """The type of a row of the tree."""

    GROUP = "group"
    ARRAY = "array"
    FOLDER = "folder"
    KEY = "key"


def is_speakable(name: str) -> bool:
    """Return whether a name can be used in an expression."""
    return name.isidentifier() and name not in _KEYWORDS


MAX_DEPTH = 64  # Folders above a key; below the last one its slashes are part of the name


def prefix(path: str) -> str:
    """Return the common start of the paths below a folder."""
    return path + "/" if path else ""


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders above a path, nearest first, the root last, at most `MAX_DEPTH`."""
    parts = path.split("/", MAX_DEPTH)
    for depth in range(len(parts) - 1, 0, -1):
        yield "/".join(parts[:depth])
    if path:
        yield ""


LONGEST_SEGMENT = 255  # Most bytes of a name on Linux, macOS and Windows
_LONGEST_KEY = 1024  # Most bytes of a name in S3
ODD_IN_URL = re.compile(
    r"[ \\\\%#@<>|^`\"]|/\.\.?(?:/|$)|^[A-Za-z]:|^[a-z0-9+.\-]*[A-Z][A-Za-z0-9+.\-]*:"
    r"|^(?:[^h]|h[^t]).*\?|^file:(?:[^/]|/[^/]|//[^/])|^//|^https?:(?:[^/]|/[^/]|///)|:[0-9]{5}"
    r"|^[A-Za-z][A-Za-z0-9+.\-]*:(?:[^/]|$|/(?:[^/]|$))"
)
"""URLs for which `unportable_url` may have a finding; RE2 and `re` interpret it alike."""
_PROTOCOL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_WEB = frozenset({"http", "https"})
_UNESCAPED = re.compile(r"[ <>\"\\^`|]|[^\x00-\x7f]")
_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_DOTS = re.compile(r"/\.\.?(?:/|$)")
_PORT = re.compile(r"://[^/]*:([0-9]+)(?:/|$)")
_NO_FILE_NAME = re.compile(r"[<>:\"|?*\\#%]")
_BLANK_ENDS = re.compile(r"(?:^|/) | (?:/|$)|[^/.]\.(?:/|$)")


def unportable_key(key: str) -> str:
    """Return why some stores reject a key; an empty text if none do."""
    if not key.isascii():
        return "The key is not ASCII: Zarr v2 does not allow it, and stores encode it differently."
    if len(key) > _LONGEST_KEY:
        return f"The key has {len(key):,} bytes; object stores allow {_LONGEST_KEY:,}."
    if len(key) > LONGEST_SEGMENT and max(map(len, key.split("/"))) > LONGEST_SEGMENT:
        return (
            f"A name in the key has more than {LONGEST_SEGMENT} bytes; file systems allow no more."
        )
    if odd := _NO_FILE_NAME.search(key):
        return (
            f"The key contains {odd[0]!r}, which some file systems and URLs do not allow in names."
        )
    if _BLANK_ENDS.search(key):
        return "A name in the key has a space at one end, or ends with a dot, which Windows drops."
    return ""


def unportable_url(url: str) -> str:
    """Return how readers interpret a URL differently; an empty text if they do not."""
    match = _PROTOCOL.match(url)
    written = match[1] if match else ""
    protocol = written.lower()
    if len(written) == 1:
        return "The URL begins with a Windows drive letter, which readers take for a protocol."
    if written != protocol:
        return f"fsspec accepts the protocol only in lower case: {protocol!r}."
    if _DOTS.search(url):
        return "The URL has dotted segments, which some readers resolve and others keep."
    if protocol in _WEB:
        return _odd_on_the_web(url)
    if protocol == "file" and not url.startswith("file:///"):
        return "Readers interpret this local URL differently; write file:/// and the absolute path."
    if url.startswith("//"):
        return "The URL begins with //, so readers take the next part for a host."
    if "\\" in url:
        return "The URL contains a backslash, which some readers read as a slash."
    if odd := next((mark for mark in "%#?" if mark in url), None):
        return (
            f"The URL contains {odd!r}: fsspec reads it as part of the name, other readers as the "
            "start of an escape sequence, a query or a fragment."
        )
    return ""


def _odd_on_the_web(url: str) -> str:
    host = url.partition("://")[2].partition("/")[0].partition("?")[0]
    port = _PORT.search(url)
    if not host or (port and int(port[1]) >= 2**16):
        return "The URL has no host, or its port number is invalid."
    if "@" in host:
        return "The URL has a user name or password, which browsers refuse and other readers show."
    if _UNESCAPED.search(url):
        return (
            "The URL contains characters that have to be percent-encoded: some readers encode "
            "them, others send or refuse them."
        )
    if _NO_ESCAPE.search(url):
        return "A percent sign in the URL starts no escape sequence: only some readers encode it."
    if "#" in url:
        return "The URL has a fragment (#), which is not sent to the server."
    return ""


def odd_json(text: str) -> str:
    """Return why other parsers reject or change JSON that Python reads; empty if none do."""
    found: list[str] = []

    def pairs(members: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(members)
        if len(made) < len(members):
            found.append("An object contains a name twice: parsers keep the first, or the last.")
        return made

    def constant(name: str) -> float:
        found.append(
            f"It contains `{name}`, which is not JSON: JavaScript, among others, rejects it."
        )
        return float(name)

    names = re.findall(r'"([^"\\]*)"\s*:', text)
    if not re.search(r"NaN|Infinity|\\u", text) and len(names) == len(set(names)):
        return ""
    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        found.append("It contains an unpaired surrogate, which many parsers refuse or replace.")
    except (ValueError, RecursionError):
        return ""
    return found[0] if found else ""


BASE64_PREFIX = "base64:"
_BASE64_SPACES = " \t\r\n"


class Kind(StrEnum):
    """The kind of a reference."""

    INLINE = "inline"
    BASE64 = "base64"
    URL = "url"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class Inline:
    """Inline text; a JSON object of the source is stored as its JSON text."""

    text: str
    kind: ClassVar[Kind] = Kind.INLINE

    @property
    def data(self) -> bytes:
        """The bytes that reading the key returns (UTF-8)."""
        return self.text.encode()

    @property
    def size(self) -> int:
        """Length in bytes."""
        return len(self.data)

    def to_v0(self) -> str:
        """Return the value of the key in a V0 document."""
        return self.text


@dataclass(frozen=True, slots=True)
class Base64:
    """Binary data in the set: ``"base64:"`` and RFC 4648 section 4 text."""

    text: str
    """As written, with its prefix."""
    kind: ClassVar[Kind] = Kind.BASE64

    @property
    def data(self) -> bytes:
        """The decoded bytes.

        Raises
        ------
        ValueError
            If the text is not base64; blanks and line breaks are allowed.
        """
        try:
            return base64.b64decode(self._payload, validate=True)
        except binascii.Error as error:
            raise ValueError(f"{error}".lower()) from None

    @property
    def size(self) -> int:
        """Length of the decoded bytes."""
        payload = self._payload
        return len(payload) // 4 * 3 - payload[-2:].count("=")

    @property
    def _payload(self) -> str:
        """The text without prefix and whitespace, which is rare and quickly excluded."""
        payload = self.text[len(BASE64_PREFIX) :]
        for space in _BASE64_SPACES:
            if space in payload:
                payload = payload.replace(space, "")
        return payload

    def to_v0(self) -> str:
        """Return the value of the key in a V0 document."""
        return self.text


@masks_repr
@dataclass(frozen=True, slots=True)
class Url:
    """A whole file; a `url` of None stands for the target that the reader names at open time."""

    url: str | None
    kind: ClassVar[Kind] = Kind.URL

    @property
    def size(self) -> None:
        """Unknown until the target is requested."""
        return None

    def to_v0(self) -> list[str | int | None]:
        """Return the value of the key in a V0 document: ``[url]``."""
        return [self.url]


@masks_repr
@dataclass(frozen=True, slots=True)
class Range:
    """A byte range of a file; offset and length are in bytes."""

    url: str | None
    offset: int
    length: int
    kind: ClassVar[Kind] = Kind.RANGE

    @property
    def size(self) -> int:
        """Length in bytes."""
        return self.length

    def to_v0(self) -> list[str | int | None]:
        """Return the value of the key in a V0 document: ``[url, offset, length]``."""
        return [self.url, self.offset, self.length]


Reference = Inline | Base64 | Url | Range
V0Value = str | list[str | int | None]


_BYTES = 4  # Bytes that a character has at most

TakeNote = Callable[[str, str, str], None]  # Takes a diagnostic code, a sentence and a hint


class BadReference(Problem):
    """A value is not a reference."""


def read_reference(value: object, url_of: Callable[[str], str], note: TakeNote) -> Reference:
    """Parse the value of one key."""
    if isinstance(value, list | tuple):
        return _read_list(value, url_of, note)
    if isinstance(value, str):
        return _read_text(value, note)
    if isinstance(value, Mapping):
        return Inline(_json_text(value))
    data = _bytes_of(value)
    if data is not None:
        reference = read_inline(data)
        return _read_base64(reference.text, note) if is_encoded(data) else reference
    raise BadReference(
        "bad-ref-type",
        f"A reference must be a string, an object or a list, not {_value_text(value)}.",
        "Pass it as bytes, which fsspec reads as well."
        if isinstance(value, bytearray | memoryview)
        else 'Write "text", {…}, [url] or [url, offset, length].',
    )


def _bytes_of(value: object) -> bytes | None:
    """Return in-memory bytes, of kerchunk or in a Zarr buffer, as interpreted by fsspec."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, int) or not hasattr(value, "to_bytes"):  # those of integers differ
        return None
    return value.to_bytes()


def _read_list(
    value: list[object] | tuple[object, ...], url_of: Callable[[str], str], note: TakeNote
) -> Reference:
    if len(value) == 3:
        url, offset, length = value
        if type(offset) is not int or type(length) is not int or offset < 0 or length < 0:
            offset, length = (_integer("offset", offset, note), _integer("length", length, note))
        if offset > MOST_BYTES or length > MOST_BYTES:
            both = f"{integer_text(offset)}, {integer_text(length)}"
            message = f"The range {both} has a number beyond 2**62 - 1."
            raise BadReference("vast-number", message, "Write the true number of bytes.")
        return Range(_read_url(url, url_of), offset, length)
    if len(value) == 1:
        return Url(_read_url(value[0], url_of))
    raise BadReference(
        "bad-ref-shape",
        f"A reference list has one or three elements, not {len(value)}.",
        "Write [url] for a whole file, or [url, offset, length].",
    )


def _read_url(value: object, url_of: Callable[[str], str]) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadReference("bad-url", "The first element of a list must be a URL, as a string.")
    url = url_of(value)
    check_text(url, "bad-url", "URL")
    return url


def _integer(name: str, value: object, note: TakeNote) -> int:
    if isinstance(value, float) and value.is_integer():
        note(
            "float-offset", f"The {name} {value} is a float.", f"Write {integer_text(int(value))}."
        )
        value = int(value)
    if isinstance(value, np.integer):  # as in kerchunk's dicts in memory
        value = int(value)
    if type(value) is not int:
        raise BadReference(
            f"bad-{name}",
            f"The {name} must be an integer number of bytes, not {_value_text(value)}.",
            f"Write the {name} as a number." if isinstance(value, str) else "",
        )
    if value < 0:
        raise BadReference(f"bad-{name}", f"The {name} {integer_text(value)} is negative.")
    return value


def _read_text(value: str, note: TakeNote) -> Reference:
    if value.startswith(BASE64_PREFIX):
        return _read_base64(value, note)
    if value[:9].lstrip().lower().startswith(BASE64_PREFIX):
        hint = f"Write `{BASE64_PREFIX}` in lower case, at the very start."
        note("almost-base64", "The text is not decoded, though it looks like base64.", hint)
    if not value.isascii():
        check_text(value, "bad-text", "text")
        note("non-ascii-inline", "The text is not ASCII; it is read as UTF-8.", "")
    return Inline(value)


def is_encoded(value: bytes) -> bool:
    """Return whether bytes in a set would be interpreted as base64 text."""
    return value.startswith(BASE64_PREFIX.encode())


def read_inline(value: bytes) -> Inline | Base64:
    """Read bytes from parquet or kerchunk's dicts; ``base64:`` marks base64 text, as for fsspec."""
    # Bytes that begin with ``base64:`` are base64 text, as for fsspec; it is not decoded here.
    return Base64(value.decode("ascii", "replace")) if is_encoded(value) else read_bytes(value)


def read_bytes(value: bytes) -> Inline | Base64:
    """Read bytes that are the data themselves, whatever their prefix."""
    if value.isascii() and not is_encoded(value):
        text = value.decode()
        if all(letter.isprintable() or letter.isspace() for letter in text):
            return Inline(text)
    return Base64(BASE64_PREFIX + base64.b64encode(value).decode())


def _read_base64(value: str, note: TakeNote) -> Base64:
    reference = Base64(value)
    try:
        reference.data  # noqa: B018  decoding is the check
    except ValueError as error:
        raise BadReference(
            "bad-base64",
            f"The text after `base64:` cannot be decoded: {error}.",
            "Use the characters A-Z a-z 0-9 + /, padded with = at the end.",
        ) from None
    if any(blank in value for blank in "\n\r \t"):
        note("base64-whitespace", "The base64 text contains spaces or line breaks.", "")
    return reference


def check_text(value: str, code: str, what: str) -> None:
    """Reject a text that no file can contain."""
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadReference(
            code, f"The {what} contains an unpaired surrogate, which UTF-8 cannot encode."
        ) from None


def check_key_length(key: str, limits: Limits) -> None:
    """Reject a key of more bytes than the limits allow."""
    if len(key) * _BYTES <= limits.key_bytes:
        return
    size = len(key.encode("utf-8", "surrogatepass"))
    if size > limits.key_bytes:
        raise BadReference(
            "key-too-long",
            f"The key has {size:,} bytes, more than the limit of {limits.key_bytes:,}, and is "
            "rejected.",
            "No store accepts such a key: a file system allows 255 bytes between slashes, S3 "
            "takes 1,024 in all. `Limits.key_bytes` raises the limit.",
        )


def _json_text(value: Mapping[str, object]) -> str:
    """Write an object as JSON text, escaping only what UTF-8 cannot represent."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadReference(
            "bad-ref-type", f"The object cannot be written as JSON: {error}."
        ) from None
    return text


def _value_text(value: object) -> str:
    if type(value) is int:
        return integer_text(value)
    return json.dumps(value, default=str)[:40]
