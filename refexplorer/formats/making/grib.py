"""References to the messages of a GRIB2 file, by kerchunk and eccodes.

kerchunk splits a file by itself: one with bytes after the last message, or a message of no bytes,
it reads for ever. It is given one message at a time here.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from typing import Any, BinaryIO

from refexplorer.errors import LeftOutWarning, SourceError
from refexplorer.formats.making.streams import WatchedStream

_MAGIC = b"GRIB"
_END = b"7777"
# section 0 of GRIB 2: "GRIB", two spare bytes, discipline, edition, and the length in eight bytes
_HEAD = 16
_EDITION = 7
_PIECE = 2**20
# one for each field, so that they count the fields of a message
_DATA_SECTION = 7


def of_grib(stream: WatchedStream, url: str, guarded: bool) -> dict[str, Any]:
    """Make references to each message, in a group of its own if there is more than one.

    Raises
    ------
    SourceError
        If a message is damaged or of GRIB1, of which kerchunk knows nothing.
    """
    import cfgrib  # noqa: F401
    import eccodes  # noqa: F401
    from kerchunk.grib2 import scan_grib

    from refexplorer.formats.making.lent_files import lent  # it takes fsspec

    made: list[dict[str, Any]] = []
    more_fields = 0
    for offset, message in _messages(stream):
        more_fields += _fields(message) > 1
        with lent(io.BytesIO(message)) as name:
            found = scan_grib(name, inline_threshold=0)
        if len(found) != 1:
            raise SourceError(f"kerchunk makes nothing of the message at byte {offset:,}")
        refs: dict[str, Any] = found[0]["refs"]
        made.append({key: _placed(value, url, offset) for key, value in refs.items()})
    if more_fields:
        warnings.warn(
            f"{more_fields:,} of {len(made):,} messages hold several fields, and kerchunk makes "
            "references to the first of each alone.",
            LeftOutWarning,
            stacklevel=2,
        )
    if len(made) == 1:
        return made[0]
    digits = len(str(len(made) - 1))
    whole: dict[str, Any] = {".zgroup": {"zarr_format": 2}}
    for number, refs in enumerate(made):
        folder = f"message_{number:0{digits}}"
        whole |= {f"{folder}/{key}": value for key, value in refs.items()}
    return whole


def _messages(stream: BinaryIO | WatchedStream) -> Iterator[tuple[int, bytes]]:
    """Yield place and bytes of each message; what lies between messages is passed over."""
    at = 0
    while (place := _find(stream, at)) is not None:
        stream.seek(place)
        head = stream.read(_HEAD) or b""
        if len(head) < _HEAD or head[_EDITION] != 2:
            raise SourceError(
                f"the message at byte {place:,} is not of GRIB2, and kerchunk knows no other"
            )
        size = int.from_bytes(head[8:], "big")
        stream.seek(0, io.SEEK_END)
        if not _HEAD < size <= stream.tell() - place:
            raise SourceError(f"the message at byte {place:,} gives its length as {size:,} bytes")
        stream.seek(place)
        message = stream.read(size) or b""
        if not message.endswith(_END):
            raise SourceError(f"the message at byte {place:,} does not end where it says")
        yield place, message
        at = place + size


def _find(stream: BinaryIO | WatchedStream, at: int) -> int | None:
    """Return where the next message begins."""
    while True:
        stream.seek(at)
        piece = stream.read(_PIECE) or b""
        found = piece.find(_MAGIC)
        if found >= 0:
            return at + found
        if len(piece) < len(_MAGIC):
            return None
        at += len(piece) - len(_MAGIC) + 1


def _fields(message: bytes) -> int:
    """Return how many sections of data a message has."""
    at, count = _HEAD, 0
    while at + 5 <= len(message) and message[at : at + 4] != _END:
        size = int.from_bytes(message[at : at + 4], "big")
        if size < 5:
            break
        count += message[at + 4] == _DATA_SECTION
        at += size
    return count


def _placed(value: Any, url: str, offset: int) -> Any:
    """Return a reference into the file for one into the message."""
    if not isinstance(value, list | tuple):
        return value
    return [url, int(value[1]) + offset, int(value[2])]
