"""The metadata of an array with other values in some fields, in Zarr v2 and v3."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from refexplorer.io.decode.codecs import is_installed
from refexplorer.spec.keys import prefix
from refexplorer.spec.zarr_metadata import DIMENSIONS, ArrayMeta

ATTRIBUTES = frozenset(
    {"scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "units", "calendar"}
)
"""Fields that are attributes; null removes one."""
_ENDIAN = {"<": "little", ">": "big"}


class NotWritableError(Exception):
    """A field has no place in the metadata of Zarr; the text is the reason."""


def changed_metadata(
    meta: ArrayMeta, attributes: Mapping[str, Any] | None, fields: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the metadata keys that change, and what they hold then."""
    array = copy.deepcopy(dict(meta.metadata))
    if meta.zarr_format == 3:
        _change_v3(array, fields)
        return {meta.metadata_key: array}
    said = dict(attributes or {})
    for name, value in fields.items():
        if name in ATTRIBUTES:
            _put(said, name, value)
        elif name == "dimensions":
            said[DIMENSIONS] = value
        else:
            _change_v2(array, name, value)
    found = {}
    if array != meta.metadata:
        found[meta.metadata_key] = array
    if said != (attributes or {}):
        found[meta.folder + ".zattrs"] = said
    return found


def _put(attributes: dict[str, Any], name: str, value: Any) -> None:
    if value is None:
        attributes.pop(name, None)
    else:
        attributes[name] = value


def _change_v2(array: dict[str, Any], name: str, value: Any) -> None:
    if name in ("dtype", "byte-order"):
        array["dtype"] = value
    elif name == "chunk-shape":
        array["chunks"] = value
    elif name == "filters":
        array["filters"] = [{"id": _known(codec, 2), **settings} for codec, settings in value]
        array["filters"] = array["filters"] or None
        array["compressor"] = None
    else:
        array[name] = value


def _change_v3(array: dict[str, Any], fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if name in ATTRIBUTES:
            _put(array.setdefault("attributes", {}), name, value)
        elif name == "dimensions":
            array["dimension_names"] = value
        elif name in ("dtype", "byte-order"):
            dtype = np.dtype(value)
            if dtype.kind in "SU":
                raise NotWritableError("texts of a fixed length have no data type in Zarr v3")
            array["data_type"] = dtype.name
            _set_endian(array, dtype)
        elif name == "chunk-shape":
            array["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": value}}
        elif name == "filters":
            codecs = [each for each in array["codecs"] if _name(each) in ("bytes", "endian")]
            array["codecs"] = codecs + [
                {"name": _known(f"numcodecs.{codec}", 3), "configuration": settings}
                for codec, settings in value
            ]
        else:
            array[name] = value


def _set_endian(array: dict[str, Any], dtype: np.dtype[Any]) -> None:
    order = _ENDIAN[">" if dtype.str[0] == ">" else "<"]
    array["codecs"] = [
        {"name": "bytes", "configuration": {"endian": order}}
        if _name(each) in ("bytes", "endian")
        else each
        for each in array["codecs"]
    ]


def _name(codec: Any) -> str:
    return codec if isinstance(codec, str) else str(codec.get("name"))


def _known(codec: str, zarr_format: int) -> str:
    if not is_installed(codec, zarr_format):
        raise NotWritableError(f"no codec that is installed here decodes the filter {codec}")
    return codec


def consolidated(
    key: str,
    text: str,
    changes: Mapping[str, Mapping[str, Any]],
    own: Mapping[str, Mapping[str, Any]],
    compared: Collection[str],
) -> str | None:
    """Return consolidated metadata with changes; None if they have none of them."""
    document = json.loads(text)
    if not isinstance(document, dict):
        return None
    inside = document.get("consolidated_metadata") or document
    known = inside.get("metadata") if isinstance(inside, dict) else None
    if not isinstance(known, dict):
        return None
    was, start = dict(known), prefix(key.rpartition("/")[0])
    end = "" if inside is document else "/zarr.json"

    def is_compared(each: str) -> bool:
        return each.rpartition("/")[0] in compared

    for name in was if own else ():
        each = f"{start}{name}{end}"
        if each not in own and is_compared(each):
            del known[name]
    for each, value in (dict(own) | dict(changes)).items():
        name = each.removeprefix(start).removesuffix(end)
        if name in known if each in changes else name not in known or is_compared(each):
            known[name] = value
    return None if known == was else json.dumps(document)
