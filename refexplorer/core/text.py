"""Text from a file, made safe to print and to put into HTML; and a few elements to put it in."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np

from refexplorer.core.masking import masked_text

_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB")
_SIZE = 10**30  # larger than any size of data; a file may claim any number
_LAST_MOMENT = 8.64e15
"""Milliseconds to the last date of JavaScript."""
_WHOLE = 1e15  # larger numbers are shown with six digits, smaller whole ones with all of theirs
# from here on six digits leave no fraction, so all digits before the point are shown
_MILLION = 1e6
_SIX_DIGITS = Context(prec=6, rounding=ROUND_HALF_UP)
_NAME_CHARS = 200  # of a name: a file may hold any text
_LONGEST_USER = 10_000
"""Characters beyond the limit of a text in which a password is looked for."""
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def escape(text: str, limit: int | None = None) -> str:
    r"""Mask secrets of addresses, and write characters that nobody sees as in ``\u202e``."""
    most = len(text) if limit is None else limit + _LONGEST_USER
    is_long, text = len(text) > most, masked_text(text[:most])
    if limit is not None and (is_long or len(text) > limit):
        text = f"{text[: limit - 1]}…"
    return text if text.isprintable() else _UNSEEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(text: str, limit: int | None = None) -> str:
    """Return text of a file as HTML that shows it and does nothing else."""
    return html.escape(escape(text, limit))


def code(text: str, limit: int | None = None) -> str:
    """Return text of a file as a ``code`` element."""
    return f"<code>{shown(text, limit)}</code>"


def items(parts: Iterable[str], kind: str = "ul") -> str:
    """Return a list of elements that are HTML already."""
    return f"<{kind}>{''.join(f'<li>{part}</li>' for part in parts)}</{kind}>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already."""
    title = "".join(f"<th scope='col'>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{title}</tr></thead><tbody>{body}</tbody></table>"


def size_text(size: int) -> str:
    """Write a number of bytes in decimal units with three digits, such as ``"57.3 kB"``.

    Halves are rounded away from zero, as the front end does.
    """
    if size < 0:
        return f"-{size_text(-size)}"
    if size < 1000:
        return f"{size} B"
    if size > _SIZE:
        return f"more than {size_text(_SIZE)}"
    step = 10 ** (len(str(size)) - 3)
    size = (size + step // 2) // step * step
    digits = len(str(size))
    power = min((digits - 1) // 3, len(_UNITS))
    places = max(0, 3 * power + 3 - digits)
    return f"{size / 1000**power:,.{places}f} {_UNITS[power - 1]}"


def moment_text(milliseconds: float) -> str:
    """Write milliseconds since 1970 as a date, with the time where there is one."""
    if not math.isfinite(milliseconds):
        return "NaT"
    if abs(milliseconds) > _LAST_MOMENT:
        return f"{milliseconds:.0f} ms since 1970"
    date, _, time = str(np.datetime64(int(milliseconds), "ms")).partition("T")
    time = time.removesuffix(".000")
    return date if time == "00:00:00" else f"{date} {time}"


def number_text(number: float) -> str:
    """Write what was computed of values: six digits, and all before the point."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "inf" if number > 0 else "-inf"
    if abs(number) < _WHOLE and (number == int(number) or abs(number) >= _MILLION):
        return f"{math.floor(number + 0.5):,}"
    short = _SIX_DIGITS.plus(Decimal(number)).normalize()
    if 1e-6 <= abs(short) < 1e21:
        return f"{short:f}"
    digits, _, power = f"{short:e}".partition("e")
    return f"{digits}e{int(power):+}"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def array_text(path: str) -> str:
    """Return an array as sentences name it."""
    return f"`{escape(path, _NAME_CHARS)}`" if path else "The root array"


def file_text(url: str) -> str:
    """Return the last part of a URL, as sentences name a file."""
    return escape(url.rstrip("/").rpartition("/")[2] or url, _NAME_CHARS)
