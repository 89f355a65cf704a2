"""Converts sets from Zarr v2 to v3, if that is exact: Icechunk stores only v3.

Chunk keys are renamed, metadata are rewritten, and chunk bytes stay unchanged. Whether v3 codecs
can read them is tested with zarr on generated values, for each kind of array.
"""

from __future__ import annotations

import base64
import json
import struct
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.text import escape
from refexplorer.formats.source import ZMETADATA, Source
from refexplorer.spec.references import prefix
from refexplorer.spec.zarr_metadata import ArrayMeta, regular_grid

if TYPE_CHECKING:
    from refexplorer.verbs.referenceset import ReferenceSet

_ARRAY, _ATTRIBUTES, _GROUP = ".zarray", ".zattrs", ".zgroup"
_DIMENSIONS = "_ARRAY_DIMENSIONS"
_OF_ARRAYS = {"delta", "fixedscaleoffset", "bitround", "quantize", "astype"}
_OF_BYTES = {"shuffle", "zlib", "bz2", "lz4", "lzma", "blosc", "fletcher32", "crc32", "adler32"}
_OWN_NAMES = {"gzip": ("level",), "zstd": ("level", "checksum")}
"""Codecs that have their own name in v3, with their settings."""
_TRIED = 6  # Most elements along a dimension of the chunk that is tried


def is_older(refs: ReferenceSet) -> bool:
    """Return whether a set has arrays or groups of Zarr v2."""
    return any(refs.array(path).zarr_format == 2 for path in refs.arrays()) or _GROUP in refs


def set_as_v3(refs: ReferenceSet) -> ReferenceSet:
    """Return a set with Zarr v3 metadata that reads the same."""
    from refexplorer.verbs.opening import set_of

    newer = set_of(as_v3(refs), refs.limits, storage_options=refs.storage_options)
    return newer.allowing(*refs.allowed)


def in_one_format(before: ReferenceSet, after: ReferenceSet) -> tuple[ReferenceSet, ReferenceSet]:
    """Return both sets with Zarr v3 metadata if one has them and the conversion is exact."""
    sides = [before, after]
    formats = [{refs.array(path).zarr_format for path in refs.arrays()} for refs in sides]
    for place, refs in enumerate(sides):
        is_small = refs.count <= refs.limits.expanded_keys
        if formats[place] == {2} and formats[1 - place] == {3} and is_small:
            with suppress(RefexplorerError):
                sides[place] = set_as_v3(refs)
    return sides[0], sides[1]


def as_v3(refs: ReferenceSet) -> Source:
    """Return the references of a set with Zarr v3 metadata."""
    v0 = refs.to_v0()
    references: dict[str, Any] = {}
    arrays = {path: refs.array(path) for path in refs.arrays()}
    tried: set[str] = set()
    for key, value in v0.items():
        folder, _, name = key.rpartition("/")
        if name in (ZMETADATA, _ATTRIBUTES):
            continue
        if name == _GROUP:
            attributes = v0.get(prefix(folder) + _ATTRIBUTES, "{}")
            values = json.loads(attributes) if isinstance(attributes, str) else attributes
            group = {"zarr_format": 3, "node_type": "group", "attributes": values}
            references[prefix(folder) + "zarr.json"] = json.dumps(group)
        elif name == _ARRAY and folder in arrays:
            document = _document(arrays[folder])
            _try(arrays[folder], document, tried)
            references[prefix(folder) + "zarr.json"] = json.dumps(document)
        else:
            references[_renamed(refs, key, arrays)] = value
    source = refs.source
    beyond = tuple((_renamed(refs, key, arrays), count) for key, count in source.beyond)
    return Source(source.name, "Zarr v3", source.location, value=references, beyond=beyond)


def _renamed(refs: ReferenceSet, key: str, arrays: Mapping[str, ArrayMeta]) -> str:
    """Return the v3 key of a chunk; other keys are rejected or kept on writing."""
    owner = refs.array_of(key)
    if owner is None or arrays[owner[0]].zarr_format != 2:
        return key
    return prefix(owner[0]) + "/".join(["c", *map(str, owner[1])])


def _document(array: ArrayMeta) -> dict[str, Any]:
    """Return the ``zarr.json`` of an array."""
    dtype = np.dtype(array.dtype) if array.dtype[:1] in "<>|" else None
    if dtype is None or dtype.kind not in "biufc":
        raise _refused(array, f"the data type {array.dtype}")
    attributes = dict(array.attributes)
    attributes.pop(_DIMENSIONS, None)
    fill = array.metadata.get("fill_value")
    if fill is not None:  # in v2 xarray reads it as missing, in v3 only this attribute
        value = _fill(array, fill, dtype)
        if dtype.kind in "fc":
            value = [*map(_encoded, value)] if dtype.kind == "c" else _encoded(value)
        attributes["_FillValue"] = value
    document: dict[str, Any] = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(array.shape),
        "data_type": dtype.name,
        "chunk_grid": regular_grid(array.chunks),
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": _fill(array, fill, dtype),
        "codecs": [*_codecs(array, dtype)],
        "attributes": attributes,
    }
    if array.dimensions is not None:
        document["dimension_names"] = list(array.dimensions)
    return document


def _fill(array: ArrayMeta, fill: object, dtype: np.dtype[Any]) -> Any:
    """Return the fill value; if undefined in v2, zarr reads zeros."""
    if fill is None:
        return False if dtype.kind == "b" else [0.0, 0.0] if dtype.kind == "c" else 0
    if dtype.kind == "f" and fill in ("NaN", "Infinity", "-Infinity"):
        return fill
    if dtype.kind == "c" and isinstance(fill, list) and len(fill) == 2:
        return [_fill(array, part, np.dtype("f8")) for part in fill]
    if dtype.kind == "b" and isinstance(fill, bool | int) and fill in (0, 1):
        return bool(fill)
    if isinstance(fill, int | float) and not isinstance(fill, bool):
        if dtype.kind == "f":
            return fill if np.isfinite(fill) else str(fill)
        bounds = np.iinfo(dtype) if dtype.kind in "iu" else None
        if bounds is not None and fill == int(fill) and bounds.min <= fill <= bounds.max:
            return int(fill)
    raise _refused(array, f"the fill value {escape(json.dumps(fill), 50)}")


def _encoded(number: str | float) -> str:
    """Return a fill value as xarray writes it into an attribute."""
    value = float(number.replace("Infinity", "inf")) if isinstance(number, str) else float(number)
    return base64.standard_b64encode(struct.pack("<d", value)).decode()


def _codecs(array: ArrayMeta, dtype: np.dtype[Any]) -> Iterator[dict[str, Any]]:
    """Yield the codecs in encoding order."""
    if array.metadata.get("order") == "F" and len(array.shape) > 1:
        order = list(range(len(array.shape)))[::-1]
        yield {"name": "transpose", "configuration": {"order": order}}
    steps = array.pipeline
    first = next((at for at, (name, _) in enumerate(steps) if name not in _OF_ARRAYS), len(steps))
    yield from starmap(_numcodecs, steps[:first])
    endian = {"<": "little", ">": "big"}.get(dtype.str[0])
    yield {"name": "bytes", **({"configuration": {"endian": endian}} if endian else {})}
    for name, settings in steps[first:]:
        if name in _OWN_NAMES:
            own = {field: settings.get(field, False) for field in _OWN_NAMES[name]}
            yield {"name": name, "configuration": own}
        elif name in _OF_BYTES:
            yield _numcodecs(name, settings)
        else:
            raise _refused(array, f"the codec {escape(name, 50)}")


def _numcodecs(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": f"numcodecs.{name}", "configuration": settings}


def _try(array: ArrayMeta, document: dict[str, Any], tried: set[str]) -> None:
    """Encode a chunk with the v2 codecs, and decode it with the v3 ones."""
    shape = [min(size, _TRIED) for size in array.chunks]
    kind = json.dumps([document["codecs"], document["data_type"], len(shape)])
    if kind in tried:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same = _reads_alike(array, document, shape)
    except Exception as error:  # codecs raise what they like
        raise _refused(array, f"codecs that fail in v3 ({escape(str(error), 100)})") from None
    if not same:
        raise _refused(array, "codecs that return different values in v3")
    tried.add(kind)


def _reads_alike(array: ArrayMeta, document: dict[str, Any], shape: list[int]) -> bool:
    import zarr
    from zarr.core.buffer import cpu
    from zarr.core.sync import sync
    from zarr.storage import MemoryStore

    older = dict(array.metadata) | {"shape": shape, "chunks": shape, "dimension_separator": "."}
    older["fill_value"] = None  # zarr writes no chunk that has the fill value alone
    newer = document | {
        "shape": shape,
        "chunk_grid": regular_grid(shape),
        "attributes": {},
        "fill_value": _fill(array, None, np.dtype(array.dtype)),
    }
    newer.pop("dimension_names", None)
    stores = MemoryStore(), MemoryStore()
    for store, name, metadata in zip(stores, (_ARRAY, "zarr.json"), (older, newer), strict=True):
        sync(store.set(name, cpu.Buffer.from_bytes(json.dumps(metadata).encode())))
    first: Any = zarr.open_array(stores[0], mode="r+", zarr_format=2)
    count = int(np.prod(shape))
    first[...] = (np.arange(1, count + 1) % 100).astype(array.dtype).reshape(shape)
    chunk = ".".join("0" for _ in shape) or "0"
    data = sync(stores[0].get(chunk, cpu.buffer_prototype))
    assert data is not None
    sync(stores[1].set("/".join(["c", *("0" for _ in shape)]), data))
    second: Any = zarr.open_array(stores[1], mode="r", zarr_format=3)
    return bool(np.array_equal(first[...], second[...]))


def _refused(array: ArrayMeta, what: str) -> RefexplorerError:
    return RefexplorerError(
        f"{array.path_text(True)} is an array of Zarr v2 with {what}, and Icechunk stores only "
        "Zarr v3; VirtualiZarr may be able to translate it (`virtualizarr.open_virtual_dataset`, "
        "then `vz.to_icechunk`)."
    )
