"""Parquet stores in zip archives, as published by satellite data archives."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from refexplorer.core.errors import LimitError, SourceError
from refexplorer.core.files import Readable, read_within
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape
from refexplorer.formats.source import ZMETADATA

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_MARK = b'"record_size"'
_ERRORS = (BadZipFile, RuntimeError, NotImplementedError, zlib.error, EOFError, OSError, ValueError)
"""What `zipfile` raises of archives that are damaged, encrypted or use another compression."""


def zipped_store(
    file: Readable, name: str, limits: Limits
) -> tuple[AbstractFileSystem, str] | None:
    """Return the only store of an archive, kept in memory; None if there is none."""
    # Nothing is unpacked into a folder, so no name in an archive can point outside of it.
    from fsspec.implementations.zip import ZipFileSystem

    data = io.BytesIO(read_within(file, limits.document_bytes + 1))
    try:
        with ZipFile(data) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > limits.document_bytes:
                raise LimitError(
                    f"{escape(name)} has more than {limits.document_bytes:,} bytes once "
                    "decompressed; `Limits.document_bytes` raises the limit."
                )
            documents = (each for each in members if each.filename.split("/")[-1] == ZMETADATA)
            stores = [each.filename for each in documents if _MARK in archive.read(each)]
            damaged = archive.testzip() if stores else None
    except _ERRORS as error:
        why = escape(str(error).rstrip("."), 200)
        raise SourceError(f"{escape(name)} is a zip archive that cannot be read: {why}.") from None
    if damaged is not None:
        raise SourceError(f"{escape(name)} is damaged: {escape(damaged, 200)} cannot be read.")
    if len(stores) > 1:
        raise SourceError(
            f"{escape(name)} has {len(stores):,} parquet stores; unpack it and open one of them."
        )
    roots = [store.removesuffix(ZMETADATA).rstrip("/") for store in stores]
    return (ZipFileSystem(fo=data), roots[0]) if roots else None
