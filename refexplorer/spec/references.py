"""The four kinds of reference, and the V0 form of each.

Source: kerchunk's reference specification, "Version 0".
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from refexplorer.core.masking import masks_repr

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
    """Text that is the data itself; a JSON object of the source is here as its JSON text."""

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
    """Binary data written into the set: ``"base64:"`` and RFC 4648 section 4 text."""

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
        """The text without prefix and blanks, which are rare, and soon seen to be none."""
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
        """Unknown until the target is asked."""
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
