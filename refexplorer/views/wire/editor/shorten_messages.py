"""A shorter text for the same keys."""

from __future__ import annotations

from msgspec import Struct

from refexplorer.views.wire.editor.editor_messages import Text
from refexplorer.views.wire.messages import Count, Request


class Shorter(Struct, frozen=True):
    """A shorter text, if one was found.

    Attributes
    ----------
    found
        Whether there is a shorter one.
    sizes, parts
        The sizes, and what the document consists of, in a sentence each.
    rows
        The gen items and templates: what it is, key or name, URL.
    explicit, explicit_count
        The first of the keys that are written out, and how many there are.
    """

    found: bool
    sizes: str
    parts: str
    rows: tuple[tuple[str, str, str], ...]
    explicit: tuple[str, ...]
    explicit_count: Count


class Shortened(Struct, frozen=True):
    """A shorter text."""

    shorter: Shorter


class Shorten(Request, frozen=True, tag="shorten"):
    """Look for a shorter text."""

    reply = Shortened
    is_later = True


class TakeShorter(Request, frozen=True, tag="shorten.take"):
    """Put the shorter text into the editor."""

    reply = Text


class PutBack(Request, frozen=True, tag="shorten.back"):
    """Put the text back that was there before the shorter one."""

    reply = Text
