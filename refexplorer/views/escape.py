"""Text from a file, made safe to print: nothing in it moves a cursor or turns the line around."""

from __future__ import annotations

import re

_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def escape(text: str, limit: int | None = None) -> str:
    r"""Replace control, bidirectional and zero-width characters by escapes such as ``\u202e``.

    Parameters
    ----------
    text
        Any text.
    limit
        Longer text is cut to this many characters, with an ellipsis, before it is escaped.
    """
    if limit is not None and len(text) > limit:
        text = f"{text[: limit - 1]}…"
    return _UNSEEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
