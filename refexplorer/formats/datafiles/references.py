"""References generated for any data file that a reader of this package has opened.

The metadata are in Zarr format 2, which every reader supports, and agree with the library of the
format: `fill_value` is null unless the file declares a missing value, so that no reader treats data
as missing. Data without byte ranges, or without a Zarr codec, are decoded by the library and stored
inline if they are small. Everything else is omitted, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from refexplorer.core.text import counted, size_text
from refexplorer.formats.columns.chunk_names import KeyEncoding
from refexplorer.formats.columns.references import text_scalar
from refexplorer.formats.columns.table import Entries, EntriesBuilder
from refexplorer.formats.datafiles.data_file import (
    NO_PLAIN_FORM,
    DataFile,
    FileArray,
    FileChunks,
    FileFilter,
    Unread,
    with_used_filters,
)
from refexplorer.formats.datafiles.zarr_terms import (
    array_metadata,
    at_full_length,
    axis_names,
    base64_text,
    declared_fill,
    dimension_names,
    grid_of,
    index_text,
    is_same_value,
    json_fill,
    json_text,
    kind_of,
)

INLINE_BYTES = 2**16  # Most bytes of one array that are kept inline
_FILL_BYTES = 2**24  # Most bytes of a chunk of fill values that is encoded
_LZF_RATIO = 8  # imagecodecs decodes LZF to at most this multiple of its length
_NUMCODECS = frozenset({
    "zlib", "shuffle", "fletcher32", "bz2", "blosc", "zstd", "lzma", "grib", "fixedscaleoffset",
})  # fmt: skip
_WORDS = {"scaleoffset": "scale-offset", "nbit": "n-bit"}
_SEVERAL = 64  # Texts that are read at a time


@dataclass(frozen=True)
class DataFileReferences:
    """References to a data file, in columns."""

    documents: Mapping[str, str]  # Metadata and inline chunks by key, as V0 has them
    chunks: Mapping[str, FileChunks]  # Those with byte ranges, by the name of the array
    # Why some are missing, by the name of an array, or of an attribute: ``"x (attribute a)"``
    left_out: Mapping[str, Unread]

    def entries(self, url: str) -> Entries:
        """Return all references; `url` is the path or URL of the file used in them."""
        builder, place = EntriesBuilder(), text_scalar(url)
        builder.add_values(self.documents)
        for name, chunks in self.chunks.items():
            urls = pa.repeat(place, len(chunks.offsets)) if chunks.urls is None else chunks.urls
            keys = KeyEncoding(f"{name}/" if name else "", False, ".").keys(chunks.indices)
            builder.add_ranges(keys, urls, chunks.offsets, chunks.lengths)
        return builder.finish()

    def beyond(self, size: int) -> Iterator[tuple[str, int]]:
        """Yield for each array with chunks past the end of the file the first key, and how many."""
        for name, chunks in self.chunks.items():
            (rows,) = np.nonzero(chunks.offsets + chunks.lengths > size)
            if len(rows):
                key = index_text(chunks.indices[rows[0]].tolist())
                yield f"{name}/{key}" if name else key, len(rows)


def references_of(file: DataFile) -> DataFileReferences:
    """Generate references to everything in a file."""
    documents, chunks = dict[str, str](), dict[str, FileChunks]()
    left_out = dict[str, Unread]()
    for path, attributes in file.groups().items():
        if path not in file.names() and _is_nameable(path, left_out):
            documents |= _group(path, attributes)
    arrays = at_full_length(_arrays(file, left_out), file.names())
    names = axis_names(arrays) if file.form == "FITS" else dimension_names(arrays)
    for name, dimensions in names.items():
        array = arrays[name]
        try:
            metadata, located, inline = _made(file, array)
        except Unread as error:
            left_out[name] = error
            continue
        left_out |= {
            f"{name} (attribute {attribute})": Unread("expression", why)
            for attribute, why in array.unread.items()
            if not why.startswith(NO_PLAIN_FORM)
        }
        attributes = dict(array.attributes) | {"_ARRAY_DIMENSIONS": dimensions}
        if metadata["fill_value"] is not None:
            attributes.pop("_FillValue", None)  # readers have it from the metadata
        documents[f"{name}/.zarray"] = json_text(metadata)
        documents[f"{name}/.zattrs"] = json_text(attributes)
        documents |= {f"{name}/{key}": text for key, text in inline.items()}
        if located is not None and len(located.offsets):
            chunks[name] = located
    links = (each for each in file.objects() if each.kind == "link")
    left_out |= {each.name: each.barrier for each in links if each.barrier is not None}
    if file.form == "TIFF" and list(arrays) == ["0"] and not left_out:
        # as tifffile does, a single image is an array at the root
        moved = {key[2:]: text for key, text in documents.items() if key.startswith("0/")}
        return DataFileReferences(moved, {"": chunks["0"]} if "0" in chunks else {}, {})
    return DataFileReferences(documents, chunks, left_out)


def _group(path: str, attributes: Mapping[str, Any]) -> dict[str, str]:
    start = f"{path}/" if path else ""
    own = {f"{start}.zattrs": json_text(attributes)} if attributes else {}
    return {f"{start}.zgroup": '{"zarr_format":2}'} | own


def _arrays(file: DataFile, left_out: dict[str, Unread]) -> dict[str, FileArray]:
    """Return the arrays of a file that can be described and named."""
    arrays = dict[str, FileArray]()
    names = set(file.names())
    for name in file.names():
        if not _is_nameable(name, left_out):
            continue
        if (folder := name.rpartition("/")[0]) in names:  # a TIFF series next to a pyramid
            words = f"It would be in {folder}, which is a level of another image."
            left_out[name] = Unread("expression", words)
            continue
        try:
            array = file.array(name)
        except Unread as error:
            left_out[name] = error
            continue
        if not array.is_dimension:
            arrays[name] = array
    return arrays


_ArrayReferences = tuple[dict[str, Any], FileChunks | None, dict[str, str]]
"""One array: its ``.zarray``, its chunks with byte ranges, and its inline chunks."""


def _is_nameable(name: str, left_out: dict[str, Unread]) -> bool:
    """Return whether a name can be part of a key; otherwise the array is omitted."""
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode("utf-8", "replace").decode()
        left_out[shown] = Unread("expression", "Its name is not UTF-8.")
        return False
    return True


def _made(file: DataFile, array: FileArray) -> _ArrayReferences:
    """Decide how an array is referenced."""
    if array.dtype.hasobject:
        return _held_texts(file, array)
    kind = kind_of(array)
    if (data := file.held(array.name)) is not None:
        used = [{"id": each.name, **each.settings} for each in array.filters or ()]
        return _in_one(array, kind, array.chunks, used, data)
    try:
        chunks = file.chunks(array.name)
    except Unread as error:
        if error.why != "expression":
            raise
        return _held(file, array, kind, error)
    array, chunks = with_used_filters(array, _in_grid(array, chunks))
    filters, bad = _pipeline(array, chunks)
    if filters is None:
        words = (
            f"Its chunks are stored with the filter {_unknown(array)}, which no Zarr codec decodes."
        )
        return _held(file, array, kind, Unread("expression", words))
    decoded = math.prod(array.chunks) * array.dtype.itemsize
    if any(each["id"] == "imagecodecs_lzf" for each in filters):
        sums = 4 * sum(each["id"] == "fletcher32" for each in filters)
        is_refused = (chunks.lengths - sums) * _LZF_RATIO < decoded + sums
        if is_refused.any():
            words = (
                f"{counted(int(is_refused.sum()), 'chunk')} of it decode to more than "
                f"{_LZF_RATIO} times their length, which the codec for LZF refuses."
            )
            return _held(file, array, kind, Unread("expression", words))
    inline = dict[str, str]()
    if bad.any():
        inline = _encoded_again(file, array, filters, chunks.indices[bad])
        chunks = chunks.at(np.flatnonzero(~bad))
    fill, filled = _fill(array, chunks, inline, filters)
    return array_metadata(array, kind, array.chunks, filters, fill), chunks, inline | filled


def _in_one(
    array: FileArray, kind: Any, shape: tuple[int, ...], filters: list[dict[str, Any]], data: bytes
) -> _ArrayReferences:
    """Return an array whose only chunk is inline."""
    fill = None if kind == "|O" else json_fill(array.dtype, declared_fill(array))
    inline = {index_text((0,) * len(shape)): base64_text(data)} if data else {}
    return array_metadata(array, kind, shape, filters, fill), None, inline


def _in_grid(array: FileArray, chunks: FileChunks) -> FileChunks:
    """Drop chunks outside the shape, which a file may keep after it shrank."""
    if not array.shape:
        return chunks
    grid = np.array(grid_of(array), np.int64)
    inside = (chunks.indices < grid).all(axis=1)
    return chunks if inside.all() else chunks.at(np.flatnonzero(inside))


def _pipeline(
    array: FileArray, chunks: FileChunks
) -> tuple[list[dict[str, Any]] | None, np.ndarray]:
    """Return the codecs of most chunks, and which chunks differ; None if unknown."""
    bad = np.zeros(len(chunks.offsets), np.bool_)
    if array.filters is None:
        return None, bad
    mask = 0
    if chunks.masks is not None and len(bad) and chunks.masks.any():
        masks, counts = np.unique(chunks.masks, return_counts=True)
        mask = int(masks[counts.argmax()])
        bad = chunks.masks != mask
    if chunks.are_short is not None:
        bad = bad | chunks.are_short
    used = [each for at, each in enumerate(array.filters) if not mask >> at & 1]
    if not all(map(_is_codec, used)) or not _fits_shuffle(array, used):
        return None, bad
    return [{"id": each.name, **each.settings} for each in used], bad


def _is_codec(each: FileFilter) -> bool:
    return each.name in _NUMCODECS or each.name.startswith("imagecodecs_")


def _fits_shuffle(array: FileArray, filters: Sequence[FileFilter]) -> bool:
    """Return whether numcodecs can shuffle: HDF5 skips the bytes after the last element."""
    size: int | None = math.prod(array.chunks) * array.dtype.itemsize
    for each in filters:
        if each.name == "shuffle":
            if size is None or size % each.settings.get("elementsize", 1):
                return False
        elif each.name == "fletcher32":
            size = None if size is None else size + 4
        else:
            size = None
    return True


def _unknown(array: FileArray) -> str:
    """Return the name of the filter that no codec can decode."""
    if array.filters is None:
        return "specific to this format"
    names = [each.name for each in array.filters if not _is_codec(each)]
    return _WORDS.get(names[0], names[0]) if names else "shuffle after another one"


def _held(file: DataFile, array: FileArray, kind: Any, why: Unread) -> _ArrayReferences:
    """Store a small array inline, decoded by the library; raise if it cannot be referenced."""
    size = math.prod(array.shape) * array.dtype.itemsize
    if size > INLINE_BYTES:
        words = f"It is larger than the {size_text(INLINE_BYTES)} that are kept inline."
        raise Unread(why.why, f"{why.sentence} {words}")
    values = np.ascontiguousarray(_values(file, array), array.dtype)
    return _in_one(array, kind, array.shape, [], values.tobytes())


def _values(file: DataFile, array: FileArray) -> np.ndarray:
    """Read all values, padded with fill values if other arrays are longer along a dimension."""
    shape = file.array(array.name).shape
    found = file.values(array.name, tuple(slice(0, n) for n in shape))
    if shape == array.shape:
        return found
    whole = np.full(array.shape, 0 if array.fill_value is None else array.fill_value, array.dtype)
    whole[tuple(slice(0, n) for n in shape)] = found
    return whole


def _held_texts(file: DataFile, array: FileArray) -> _ArrayReferences:
    """Store strings of variable length inline."""
    from numcodecs import VLenUTF8

    texts, size, shape = list[str](), 0, file.array(array.name).shape
    if math.prod(array.shape) > INLINE_BYTES // 4:  # each text takes four more bytes
        raise _many_texts(array)
    rows = shape[0] if shape else 1
    for start in range(0, rows, _SEVERAL):
        part = (slice(start, min(start + _SEVERAL, rows)),) if shape else ()
        rest = tuple(slice(0, n) for n in shape[1:])
        found = np.ravel(file.values(array.name, (*part, *rest))).tolist()
        if not all(isinstance(each, str) for each in found):
            words = "Its values vary in length, so its chunks have only their addresses."
            raise Unread("expression", words)
        texts += found
        size += sum(4 + len(each.encode()) for each in found)
        if size > INLINE_BYTES:
            raise _many_texts(array)
    whole = np.full(array.shape, "", object)
    place: tuple[Any, ...] = (*(slice(0, n) for n in shape), ...)
    whole[place] = np.array([*texts, None], object)[:-1].reshape(shape)
    data = bytes(VLenUTF8().encode(whole.ravel())) if whole.size else b""
    return _in_one(array, "|O", array.shape, [{"id": "vlen-utf8"}], data)


def _many_texts(array: FileArray) -> Unread:
    return Unread(
        "expression",
        f"Its {counted(math.prod(array.shape), 'text')} vary in length, so its chunks have only "
        f"their addresses, and take more than the {size_text(INLINE_BYTES)} that are kept inline.",
    )


def _encoded_again(
    file: DataFile, array: FileArray, filters: list[dict[str, Any]], indices: np.ndarray
) -> dict[str, str]:
    """Re-encode chunks that skipped different filters from most, with those that most have."""
    size = math.prod(array.chunks) * array.dtype.itemsize
    if size * len(indices) > INLINE_BYTES:
        number = counted(len(indices), "chunk")
        is_one, is_tiff = len(indices) == 1, file.form == "TIFF"
        what = f"{'is' if is_one else 'are'} shorter than the others"
        if not is_tiff:
            what = f"{'skips' if is_one else 'skip'} filters that others have"
        raise Unread(
            "expression",
            f"{number} {what}, which Zarr cannot express, and more than the "
            f"{size_text(INLINE_BYTES)} that are kept inline; rewrite the file with "
            f"{'tiles' if is_tiff else 'the same filters for all chunks'}.",
        )
    found = dict[str, str]()
    for index in indices.tolist():
        spans = tuple(
            slice(at * chunk, min((at + 1) * chunk, whole))
            for at, chunk, whole in zip(index, array.chunks, array.shape, strict=True)
        )
        block = np.zeros(array.chunks, array.dtype)
        block[tuple(slice(0, span.stop - span.start) for span in spans)] = file.values(
            array.name, spans
        )
        found[index_text(index)] = base64_text(_encoded(block, filters))
    return found


def _encoded(block: np.ndarray, filters: list[dict[str, Any]]) -> bytes:
    """Encode a chunk, and verify that it can be decoded."""
    from numcodecs import get_codec

    codecs = []
    for each in filters:
        if each["id"].startswith("imagecodecs_"):
            import imagecodecs.numcodecs

            imagecodecs.numcodecs.register_codecs([each["id"]], verbose=False)
        codecs.append(get_codec(dict(each)))
    plain = block.tobytes()
    data: Any = plain
    for codec, each in zip(codecs, filters, strict=True):
        is_predictor = each["id"] in ("imagecodecs_delta", "imagecodecs_floatpred")
        given = np.frombuffer(data, each["dtype"] if is_predictor else np.uint8)
        encoded = codec.encode(given.reshape(each["shape"]) if is_predictor else given)
        data = encoded.tobytes() if isinstance(encoded, np.ndarray) else bytes(encoded)
    again: Any = data
    with suppress(Exception):  # codecs raise any error
        for codec in reversed(codecs):
            again = codec.decode(again)
        if (again.tobytes() if isinstance(again, np.ndarray) else bytes(again)) == plain:
            return bytes(data)
    raise Unread("expression", "One of its chunks cannot be encoded like the others.")


def _fill(
    array: FileArray, chunks: FileChunks, inline: Mapping[str, str], filters: list[dict[str, Any]]
) -> tuple[Any, dict[str, str]]:
    """Return the fill value, and inline chunks in place of missing ones that have another value."""
    # For missing chunks, readers return the fill value: with null, all current readers return
    # zeros. Any other value would be treated as missing, unless the file declares it so.
    declared = declared_fill(array)
    stored = len(chunks.offsets) + len(inline)
    missing = math.prod(grid_of(array)) - stored
    written = array.fill_value
    if missing <= 0 or written is None or is_same_value(declared, written):
        return json_fill(array.dtype, declared), {}
    if declared is None and not np.array(written, array.dtype).tobytes().strip(b"\0"):
        return None, {}
    text = ""
    if math.prod(array.chunks) * array.dtype.itemsize <= _FILL_BYTES:
        with suppress(Unread):
            text = base64_text(_encoded(np.full(array.chunks, written, array.dtype), filters))
    if text and len(text) * missing <= INLINE_BYTES:
        there = {tuple(index) for index in chunks.indices.tolist()}
        lacking = (index for index in np.ndindex(*grid_of(array)) if index not in there)
        found = {key: text for index in lacking if (key := index_text(index)) not in inline}
        return json_fill(array.dtype, declared), found
    return json_fill(array.dtype, written), {}
