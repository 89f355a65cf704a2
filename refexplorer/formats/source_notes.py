"""Notes on a source that its references do not show: its encoding, and a file that was cut."""

from __future__ import annotations

import json

from refexplorer.formats.source import Source
from refexplorer.markup import counted, escape
from refexplorer.spec.diagnostics import Findings, pointer

_HEAD = 4
"""Bytes that tell the encoding."""


def note_encoding(source: Source, findings: Findings) -> None:
    """Note a document that is not UTF-8 without a mark; the source can be read."""
    if source.content is None:
        return
    with source.content() as stream:
        head = stream.read(_HEAD)
    encoding = json.detect_encoding(head)
    if encoding != "utf-8":
        said = (
            "begins with a byte order mark" if encoding == "utf-8-sig" else f"is {encoding.upper()}"
        )
        hint = "Write it as UTF-8 without a mark, as RFC 8259 requires."
        findings.add("odd-encoding", "", f"The document {said}; not every reader takes it.", hint)


def note_beyond(source: Source, findings: Findings) -> None:
    """Note the byte ranges of a data file that end after it."""
    for key, count in source.beyond:
        name = escape(key.rpartition("/")[0] or "/", 200)
        findings.add(
            "range-past-end",
            pointer(key),
            f"{counted(count, 'byte range')} of {name} {'ends' if count == 1 else 'end'} after the "
            "file.",
            "The file is damaged or was not copied whole: compare its size with the original.",
            key=key,
            count=count,
        )
