"""The chunks of an array in a manifest of an Icechunk repository.

Source: Icechunk specification, "Manifest files": a header of 39 bytes, then a FlatBuffer, mostly
zstd. The known fields of versions 1 and 2 are read; a manifest that uses anything else is rejected,
since a partly understood chunk would be a wrong reference.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import zstandard

from refexplorer.core.errors import LimitError, SourceError
from refexplorer.core.files import read_within
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape
from refexplorer.formats.columns.references import number_column, text_column
from refexplorer.formats.icechunk.columns import as_read


class FlatTables:
    """n FlatBuffer tables: each field, by its slot in the schema, is a column."""

    def __init__(self, data: bytes, places: np.ndarray) -> None:
        self._bytes, self._places = data, places
        self._data = np.frombuffer(data, np.uint8)
        self._layouts = places - _gathered(self._data, places, "<i4")
        if len(places) and (self._layouts == self._layouts[0]).all():
            self._layouts = self._layouts[:1]  # most writers use one layout for all
        self._sizes = _gathered(self._data, self._layouts, "<u2")

    @classmethod
    def root(cls, data: bytes) -> FlatTables:
        """Return the root table of a buffer."""
        return cls(data, _gathered(np.frombuffer(data, np.uint8), np.zeros(1, np.int64), "<u4"))

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, rows: slice | np.ndarray) -> FlatTables:
        return FlatTables(self._bytes, self._places[rows])

    def __iter__(self) -> Iterator[FlatTables]:
        return (self[row : row + 1] for row in range(len(self)))

    def others(self, known: frozenset[int]) -> list[int]:
        """Return the fields of the tables that are not in `known`."""
        kinds = self[np.unique(self._layouts, return_index=True)[1]]  # few tables have all fields
        slots = (int(kinds._sizes.max(initial=4)) - 4) // 2
        return [n for n in range(slots) if n not in known and (kinds.places_of(n) >= 0).any()]

    def bytes_at(self, field: int, size: int | None = None) -> bytes | None:
        """Return a struct of known size, or a byte vector, of a single table."""
        (at,), (count,) = (self.places_of(field), [size]) if size else self.vectors(field)
        return self._bytes[at : at + count] if at >= 0 else None

    def tables(self, field: int) -> FlatTables:
        """Return the tables of a vector of a single table, all at once."""
        (at,), (count,) = self.vectors(field)
        if at + 4 * count > len(self._bytes):
            raise IndexError("a vector is longer than the file")
        places = at + 4 * np.arange(count)
        return FlatTables(self._bytes, places + _gathered(self._data, places, "<u4"))

    def places_of(self, field: int) -> np.ndarray:
        """Return the offset of a field in each table, int64, shape ``(n,)``; -1 if absent."""
        at = 4 + 2 * field
        offsets = np.zeros(len(self._layouts), np.int64)
        rows = np.flatnonzero(self._sizes > at)
        offsets[rows] = _gathered(self._data, self._layouts[rows] + at, "<u2")
        return np.where(offsets > 0, self._places + offsets, -1)

    def numbers(self, field: int, form: str = "<u8") -> np.ndarray:
        """Return 64-bit numbers, or another type, shape ``(n,)`` uint64; 0 if absent."""
        places = self.places_of(field)
        found = np.zeros(len(self), np.uint64)
        found[places >= 0] = _gathered(self._data, places[places >= 0], form, np.uint64)
        return found

    def vectors(self, field: int) -> tuple[np.ndarray, np.ndarray]:
        """Return where the elements of vectors start (-1 if absent) and how many there are."""
        starts, counts = self.places_of(field), np.zeros(len(self), np.int64)
        rows = np.flatnonzero(starts >= 0)
        places = starts[rows] + _gathered(self._data, starts[rows], "<u4")
        starts[rows], counts[rows] = places + 4, _gathered(self._data, places, "<u4")
        return starts, counts

    def matrix(self, starts: np.ndarray, width: int) -> np.ndarray:
        """Return 32-bit numbers at the given offsets, shape ``(n, width)`` int64."""
        if 4 * width > len(self._data):
            raise IndexError("a vector is longer than the file")
        at = (starts[:, None] + 4 * np.arange(width)).ravel()
        return _gathered(self._data, at, "<u4").reshape(len(starts), width)


def _gathered(
    data: np.ndarray, places: np.ndarray, form: str, kind: type[np.generic] = np.int64
) -> np.ndarray:
    """Return the numbers at many offsets, shape ``(n,)``; IndexError if one is outside."""
    size = np.dtype(form).itemsize
    if len(places) and (places.min() < 0 or places.max() + size > len(data)):
        raise IndexError("an offset is outside the file")
    # a number begins at each byte of the file
    every: np.ndarray = np.ndarray(max(len(data) - size + 1, 0), form, data, strides=(1,))
    return every[places].astype(kind)


def _repeats(data: np.ndarray, places: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return which byte strings equal the one before, shape ``(n,)`` bool; not all are noticed."""
    found = np.zeros(len(places), np.bool_)
    is_short = (sizes >= _WORD) & (sizes <= _COMPARED) & (places >= 0)
    is_short &= places <= len(data) - sizes
    rows = np.flatnonzero((sizes[1:] == sizes[:-1]) & is_short[1:] & is_short[:-1]) + 1
    for word in range(-(-int(sizes[rows].max(initial=0)) // _WORD)):
        # the last word ends where the string does
        places_in = np.minimum(word * _WORD, sizes[rows] - _WORD)
        one, other = (
            _gathered(data, places[each] + places_in, "<u8", np.uint64) for each in (rows, rows - 1)
        )
        rows = rows[one == other]
    found[rows] = True
    return found


_MAGIC = "ICE🧊CHUNK".encode()
# magic (12 bytes), writer (24), then a byte each for version, type of file and compression
_HEADER = 39
_WRITER = slice(12, 36)
_VERSION, _TYPE, _COMPRESSION = 36, 37, 38  # Positions in the header
_VERSIONS = (1, 2)  # of the format that this reader knows
_MANIFEST = 2  # type of file
_PLAIN, _ZSTD = 0, 1  # compression
# places of `arrays` in the table Manifest and of `refs` in ArrayManifest
_ARRAYS = 1
_REFS = 1
_INDEX, _INLINE, _OFFSET, _LENGTH, _CHUNK, _LOCATION, _ETAG, _MODIFIED = range(8)
"""Positions of fields in the tables Manifest, ArrayManifest and ChunkRef."""
_DICTIONARY, _METHOD, _SHORT = 2, 3, 8  # Fields for compressed locations
_OF_MANIFEST = frozenset({0, _ARRAYS, _DICTIONARY, _METHOD})
_OF_ARRAY = frozenset({0, _REFS})
_OF_CHUNK = frozenset(range(9))
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_BASE32 = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", _CROCKFORD)
_BLOCK = 2**16  # Chunks that are read together
_WORD = 8  # Bytes of strings that are compared together
_COMPARED = 2**10  # Bytes of the longest strings that are compared with the one before
_NUMBER = 8  # Bytes of a chunk index along one dimension, in memory
_NO_METHOD = b"\0"  # If absent, locations are compressed by zstd with a dictionary
_IN_CONTAINER = "vcc://"
_LOCATION_BYTES = 2**16  # Longest location that is decompressed
Containers = Mapping[str, str]  # URL prefixes of virtual chunk containers, by name


@dataclass(frozen=True, slots=True)
class ManifestChunks:
    """n chunks of one array, as stored in a manifest."""

    indices: np.ndarray  # Of each chunk, shape ``(n, rank)`` int64
    locations: list[str]  # Each URL once; empty if the bytes of the chunk are in the manifest
    codes: np.ndarray  # Positions in `locations`, shape ``(n,)``
    # offsets, lengths: Bytes, shape ``(n,)`` uint64
    offsets: np.ndarray
    lengths: np.ndarray
    inline: dict[int, bytes]  # The bytes of those that are in the manifest, by row
    native: np.ndarray  # Which are in the repository, shape ``(n,)`` bool

    @property
    def urls(self) -> pa.LargeStringArray:
        """Column of strings, n rows."""
        return as_read(text_column(self.locations)).take(number_column(self.codes))


@dataclass(frozen=True, slots=True)
class ManifestVersions:
    """The recorded target versions of n chunks of one array."""

    indices: np.ndarray  # Of each chunk, shape ``(n, rank)`` int64
    etags: pa.LargeStringArray  # Column of texts, n rows; empty where there is none
    modified: np.ndarray  # Seconds since 1970, shape ``(n,)`` uint64; 0 where there is none


OpenManifest = Callable[[str], BinaryIO]  # Opens a file by its path, for reading


def chunks_of(
    file: str, node: str, limits: Limits, opening: OpenManifest, containers: Containers
) -> Iterator[ManifestChunks]:
    """Yield the chunks of one array in a manifest, in batches."""
    with _content(file, limits, opening) as (manifest, content):
        yield from manifest.chunks(content, node, limits, containers)


def versions_in(
    file: str, node: str, limits: Limits, opening: OpenManifest
) -> Iterator[ManifestVersions]:
    """Yield the target versions of one array in a manifest, without locations."""
    # Locations may be compressed and are not read.
    with _content(file, limits, opening) as (manifest, content):
        yield from manifest.versions(content, node, limits)


@contextmanager
def _content(file: str, limits: Limits, opening: OpenManifest) -> Iterator[tuple[_Manifest, bytes]]:
    try:
        with opening(file) as stream:
            data = read_within(stream, limits.document_bytes + 1)
        manifest = _Manifest.of(data, file)
        yield manifest, manifest.content(data[_HEADER:], limits)
    except (OSError, IndexError, UnicodeDecodeError, zstandard.ZstdError) as error:
        raise SourceError(f"The manifest {file!r} cannot be read: {error}.") from None


@dataclass(frozen=True, slots=True)
class _Manifest:
    """A manifest with its header."""

    file: str  # Its path or URL
    version: int  # Of the specification
    writer: str  # Program and version that wrote it
    compression: int  # Of its content

    @classmethod
    def of(cls, data: bytes, file: str) -> _Manifest:
        if not data.startswith(_MAGIC):
            raise SourceError(f"{file!r} is not an Icechunk manifest.")
        writer = data[_WRITER].decode("utf-8", "replace").strip()
        found = cls(file, data[_VERSION], writer, data[_COMPRESSION])
        if found.version not in _VERSIONS:
            raise found.refusal("is of an unknown version; refexplorer reads 1 and 2")
        if data[_TYPE] != _MANIFEST:
            raise found.refusal(f"is a file of another kind ({data[_TYPE]})")
        return found

    def content(self, body: bytes, limits: Limits) -> bytes:
        if self.compression == _PLAIN:
            return body
        if self.compression != _ZSTD:
            raise self.refusal(f"has an unknown compression ({self.compression})")
        with zstandard.ZstdDecompressor().stream_reader(body) as stream:
            content = read_within(stream, limits.document_bytes + 1)
        if len(content) > limits.document_bytes:
            raise self._larger(limits)
        return content

    def chunks(
        self, content: bytes, node: str, limits: Limits, containers: Containers
    ) -> Iterator[ManifestChunks]:
        locations = _Locations(self, content, containers, limits)
        for chunks in self._arrays(content, node):
            for at in range(0, len(chunks), _BLOCK):
                yield self._block(chunks[at : at + _BLOCK], content, locations, limits)

    def versions(self, content: bytes, node: str, limits: Limits) -> Iterator[ManifestVersions]:
        """Yield the versions of the targets of one array."""
        for chunks in self._arrays(content, node):
            for at in range(0, len(chunks), _BLOCK):
                block = chunks[at : at + _BLOCK]
                etags = self._texts(*block.vectors(_ETAG), content, limits)
                modified = block.numbers(_MODIFIED, "<u4")
                yield ManifestVersions(self._indices(block, limits), etags, modified)

    def _arrays(self, content: bytes, node: str) -> Iterator[FlatTables]:
        """Yield the chunks of an array, after checking their fields."""
        root = FlatTables.root(content)
        self._check(root, "Manifest", _OF_MANIFEST)
        if root.bytes_at(_METHOD, 1) not in (None, _NO_METHOD):
            raise self.refusal("compresses locations in a way that refexplorer does not know")
        every = root.tables(_ARRAYS)
        arrays = [array for array in every if crockford(array.bytes_at(0, 8) or b"") == node]
        if not arrays:
            raise self.refusal(f"lacks the array {node}, which it has according to the snapshot")
        for array in arrays:
            self._check(array, "ArrayManifest", _OF_ARRAY)
            chunks = array.tables(_REFS)
            self._check(chunks, "ChunkRef", _OF_CHUNK)
            yield chunks

    def _block(
        self, chunks: FlatTables, content: bytes, locations: _Locations, limits: Limits
    ) -> ManifestChunks:
        indices = self._indices(chunks, limits)
        own, (starts, counts) = chunks.places_of(_CHUNK), chunks.vectors(_INLINE)
        places, sizes = chunks.vectors(_LOCATION)
        packed = chunks.vectors(_SHORT)
        bad = (starts >= 0) * 1 + (own >= 0) + (sizes > 0) + (packed[1] > 0) != 1
        if np.any(bad):
            index = indices[np.flatnonzero(bad)[0]].tolist()
            raise self.refusal(
                "has a chunk that is neither inline, native nor virtual: "
                f"{', '.join(map(str, index))}"
            )
        self.check_size(int(counts.sum()), limits)
        urls, rows = locations.at(places, sizes, *packed)
        held = np.flatnonzero(own >= 0)
        rows[held] = len(urls) + np.arange(len(held))
        urls += [f"chunks/{crockford(self._cut(content, at, 12))}" for at in own[held].tolist()]
        inline = {
            row: self._cut(content, int(starts[row]), int(counts[row]))
            for row in np.flatnonzero(starts >= 0).tolist()
        }
        offsets, lengths = chunks.numbers(_OFFSET), chunks.numbers(_LENGTH)
        return ManifestChunks(indices, urls, rows, offsets, lengths, inline, own >= 0)

    def _texts(
        self, places: np.ndarray, sizes: np.ndarray, content: bytes, limits: Limits
    ) -> pa.LargeStringArray:
        """Return the strings at the given offsets, each decoded once."""
        texts, rows = self.distinct(places, sizes, content, limits)
        return text_column([text.decode() for text in texts]).take(number_column(rows))

    def distinct(
        self, places: np.ndarray, sizes: np.ndarray, content: bytes, limits: Limits
    ) -> tuple[list[bytes], np.ndarray]:
        """Return the distinct byte strings at the given offsets, and the index for each row."""
        self.check_size(int(sizes.sum()), limits)
        found: dict[bytes, int] = {}
        is_new = ~_repeats(np.frombuffer(content, np.uint8), places, sizes)
        spans = zip(places[is_new].tolist(), sizes[is_new].tolist(), strict=True)
        cut = (self._cut(content, at, size) for at, size in spans)
        rows = np.array([found.setdefault(text, len(found)) for text in cut], np.int64)
        return list(found), rows[np.cumsum(is_new) - 1]

    def _indices(self, chunks: FlatTables, limits: Limits) -> np.ndarray:
        starts, ranks = chunks.vectors(_INDEX)
        rank = int(ranks.max(initial=0))
        if np.any(ranks != rank):
            raise self.refusal("has chunks of one array with indices of different lengths")
        self.check_size(len(chunks) * rank * _NUMBER, limits)
        return chunks.matrix(starts, rank) if rank else np.empty((len(chunks), 0), np.int64)

    def _cut(self, content: bytes, at: int, size: int) -> bytes:
        if size and not 0 <= at <= len(content) - size:
            raise IndexError("a string is outside the file")
        return content[at : at + size]

    def check_size(self, size: int, limits: Limits) -> None:
        """Reject overlapping parts, whose total size could exceed the file."""
        if size > limits.document_bytes:
            raise self._larger(limits)

    def _larger(self, limits: Limits) -> LimitError:
        return LimitError(
            f"The manifest {self.file!r} is larger than `Limits.document_bytes`, "
            f"{limits.document_bytes:,}."
        )

    def _check(self, tables: FlatTables, name: str, known: frozenset[int]) -> None:
        """Reject tables with an unknown field."""
        for field in tables.others(known):
            raise self.refusal(f"uses field {field} of {name}, which refexplorer does not know")

    def refusal(self, what: str) -> SourceError:
        """Return the error, with the version found."""
        return SourceError(
            f"The manifest {self.file!r} (Icechunk specification {self.version}, written by "
            f"{escape(self.writer)}) {what}."
        )


class _Locations:
    """The complete chunk locations of a manifest: decompressed, with container URLs."""

    def __init__(
        self, manifest: _Manifest, content: bytes, containers: Containers, limits: Limits
    ) -> None:
        self._manifest, self._content, self._limits = manifest, content, limits
        self._containers = containers

    @cached_property
    def _unpacking(self) -> zstandard.ZstdDecompressor:
        dictionary = FlatTables.root(self._content).bytes_at(_DICTIONARY)
        if dictionary is None:
            raise self._manifest.refusal("has compressed locations and no dictionary for them")
        return zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(dictionary))

    def at(
        self, places: np.ndarray, sizes: np.ndarray, packed: np.ndarray, packed_sizes: np.ndarray
    ) -> tuple[list[str], np.ndarray]:
        """Return the distinct locations, and the index for each chunk."""
        is_packed = packed_sizes > 0
        at, of = np.where(is_packed, packed, places), np.where(is_packed, packed_sizes, sizes)
        if not is_packed.any() or is_packed.all():
            texts, rows = self._manifest.distinct(at, of, self._content, self._limits)
            return self._whole(texts, bool(is_packed.any())), rows
        codes, found = np.empty(len(at), np.int64), list[str]()
        for these in (np.flatnonzero(is_packed), np.flatnonzero(~is_packed)):
            texts, rows = self._manifest.distinct(at[these], of[these], self._content, self._limits)
            codes[these] = rows + len(found)
            found += self._whole(texts, bool(is_packed[these[0]]))
        return found, codes

    def _whole(self, texts: list[bytes], is_packed: bool) -> list[str]:
        if is_packed:
            unpacking = self._unpacking
            sizes = [zstandard.get_frame_parameters(text).content_size for text in texts]
            if max(sizes) > _LOCATION_BYTES:
                raise self._manifest.refusal(
                    f"has a location of more than {_LOCATION_BYTES:,} bytes"
                )
            self._manifest.check_size(sum(sizes), self._limits)
            texts = [unpacking.decompress(text) for text in texts]
        return [self._resolved(text.decode()) for text in texts]

    def _resolved(self, location: str) -> str:
        """Replace container names by the URL prefixes of the containers."""
        if not location or ("://" in location and not location.startswith(_IN_CONTAINER)):
            return location
        name, _, path = location.removeprefix(_IN_CONTAINER).partition("/")
        if not location.startswith(_IN_CONTAINER) or name not in self._containers:
            raise self._manifest.refusal(
                f"has the location {escape(location)}, relative to a virtual chunk container that "
                "the repository does not have"
            )
        return f"{self._containers[name].rstrip('/')}/{path}"


def crockford(data: bytes) -> str:
    """Format an id as Icechunk does, in Crockford's base32."""
    return base64.b32encode(data).decode().rstrip("=").translate(_BASE32)
