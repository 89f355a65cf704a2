"""What a manifest of an Icechunk repository says of the chunks of an array.

Source: Icechunk specification, "Manifest files": a header of 39 bytes, then a FlatBuffer, mostly
zstd. Of versions 1 and 2 of it what is known here is read; a manifest that uses anything else is
refused, since a chunk that is half understood would be a wrong reference.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from refexplorer.errors import LimitError, SourceError
from refexplorer.formats.files.local_files import Files
from refexplorer.formats.icechunk.flatbuffer import FlatTable
from refexplorer.limits import Limits
from refexplorer.markup import escape

_MAGIC = "ICE🧊CHUNK".encode()
_HEADER = 39
_WRITER = slice(12, 36)
_VERSION, _TYPE, _COMPRESSION = 36, 37, 38
"""Places of bytes in the header."""
_VERSIONS = (1, 2)
_MANIFEST = 2
_PLAIN, _ZSTD = 0, 1
_ARRAYS = 1
_REFS = 1
_INDEX, _INLINE, _OFFSET, _LENGTH, _CHUNK, _LOCATION, _ETAG, _MODIFIED = range(8)
"""Places of fields in the tables Manifest, ArrayManifest and ChunkRef."""
_OF_MANIFEST = frozenset({0, _ARRAYS, 3})  # how locations are compressed says nothing without any
_OF_ARRAY = frozenset({0, _REFS})
_OF_CHUNK = frozenset(range(8))
_COMPRESSED = {("Manifest", 2), ("ChunkRef", 8)}
"""The dictionary for locations, and a location that is compressed with it."""
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_BASE32 = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", _CROCKFORD)
_UNCOMPRESSED = (
    "; let icechunk rewrite it without (`Repository.rewrite_manifests`, with `min_num_chunks` of "
    "`ManifestVirtualChunkLocationCompressionConfig` at 65535)"
)


def chunks_of(
    file: Path, node: str, limits: Limits, files: Files
) -> Iterator[tuple[tuple[int, ...], object]]:
    """Yield the index of each chunk of one array in a manifest, and its V0 value.

    Parameters
    ----------
    file
        The manifest.
    node
        The id of the array, as Icechunk writes it.
    limits
        `Limits.document_bytes` bounds a manifest.
    files
        Opens it.

    Raises
    ------
    SourceError
        If the manifest cannot be read, uses what is not known here, or has no such array.
    """
    try:
        with files.open(str(file)) as stream:
            data = stream.read()
        manifest = _Manifest.of(data, file)
        root = FlatTable.root(manifest.content(data[_HEADER:], limits))
        yield from manifest.chunks(root, node)
    except (OSError, struct.error, IndexError, UnicodeDecodeError, zstandard.ZstdError) as error:
        raise SourceError(f"The manifest {str(file)!r} cannot be read: {error}.") from None


@dataclass(frozen=True, slots=True)
class _Manifest:
    """A manifest, as its header says.

    Attributes
    ----------
    file
        Where it is.
    version
        Of the specification.
    writer
        Program and version that wrote it.
    compression
        Of its content.
    """

    file: Path
    version: int
    writer: str
    compression: int

    @classmethod
    def of(cls, data: bytes, file: Path) -> _Manifest:
        """Read the header."""
        if not data.startswith(_MAGIC):
            raise SourceError(f"{str(file)!r} is no Icechunk manifest.")
        writer = data[_WRITER].decode("utf-8", "replace").strip()
        found = cls(file, data[_VERSION], writer, data[_COMPRESSION])
        if found.version not in _VERSIONS:
            raise found.refusal("is of a version that refexplorer does not know; it reads 1 and 2")
        if data[_TYPE] != _MANIFEST:
            raise found.refusal(f"is a file of another kind ({data[_TYPE]})")
        return found

    def content(self, body: bytes, limits: Limits) -> bytes:
        """Return the FlatBuffer."""
        if self.compression == _PLAIN:
            return body
        if self.compression != _ZSTD:
            raise self.refusal(f"is compressed in an unknown way ({self.compression})")
        with zstandard.ZstdDecompressor().stream_reader(body) as stream:
            content = stream.read(limits.document_bytes + 1)
        if len(content) > limits.document_bytes:
            raise LimitError(
                f"The manifest {str(self.file)!r} is larger than `Limits.document_bytes`, "
                f"{limits.document_bytes:,}."
            )
        return content

    def chunks(self, root: FlatTable, node: str) -> Iterator[tuple[tuple[int, ...], object]]:
        """Yield the index of each chunk of one array, and its V0 value."""
        self._check(root, "Manifest", _OF_MANIFEST)
        arrays = [
            array
            for array in root.tables(_ARRAYS)
            if crockford(array.bytes_at(0, 8) or b"") == node
        ]
        if not arrays:
            raise self.refusal(f"lacks the array {node} that the snapshot says it has")
        for array in arrays:
            self._check(array, "ArrayManifest", _OF_ARRAY)
            for chunk in array.tables(_REFS):
                self._check(chunk, "ChunkRef", _OF_CHUNK)
                yield chunk.numbers(_INDEX), self._value(chunk)

    def _value(self, chunk: FlatTable) -> object:
        inline, own = chunk.data(_INLINE), chunk.bytes_at(_CHUNK, 12)
        location = (chunk.data(_LOCATION) or b"").decode()
        if (inline is not None) + (own is not None) + bool(location) != 1:
            raise self.refusal(
                "has a chunk that is not one of inline, in the repository, or at a location: "
                f"{', '.join(map(str, chunk.numbers(_INDEX)))}"
            )
        if inline is not None:
            return "base64:" + base64.b64encode(inline).decode()
        if location.startswith("vcc:") or (location and "://" not in location):
            raise self.refusal(
                f"has the location {escape(location)}, which is relative to a virtual chunk "
                "container and is not resolved by refexplorer; write the chunk with its whole URL"
            )
        url = location if own is None else f"chunks/{crockford(own)}"
        return [url, chunk.number(_OFFSET), chunk.number(_LENGTH)]

    def _check(self, table: FlatTable, name: str, known: frozenset[int]) -> None:
        """Refuse a table with a field that is not known."""
        for field in table.others(known):
            if (name, field) in _COMPRESSED:
                raise self.refusal(
                    "has compressed chunk locations, which refexplorer does not read"
                    + _UNCOMPRESSED
                )
            raise self.refusal(f"uses field {field} of {name}, which refexplorer does not know")

    def refusal(self, what: str) -> SourceError:
        """Say what is wrong, with the version that was found."""
        return SourceError(
            f"The manifest {str(self.file)!r} (Icechunk specification {self.version}, written by "
            f"{escape(self.writer)}) {what}."
        )


def crockford(data: bytes) -> str:
    """Write an id as Icechunk does, in the alphabet of Crockford."""
    return base64.b32encode(data).decode().rstrip("=").translate(_BASE32)
