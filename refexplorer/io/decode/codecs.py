"""The codecs that an array requires: those that must not run, and those not installed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from refexplorer.core.errors import DecodeError
from refexplorer.core.text import escape
from refexplorer.spec.zarr_metadata import ArrayMeta

METADATA_NAMES = frozenset({".zarray", "zarr.json", ".zmetadata"})  # Metadata that name codecs

_CODECS = 1_000  # codecs of an array whose names are checked
_UNSAFE = frozenset({"pickle", "numcodecs.pickle"})
_PACKAGES = {
    "imagecodecs": "imagecodecs", "tifffile": "tifffile", "zfpy": "zfpy", "pcodec": "pcodec",
    "msgpack2": "msgpack", "crc32c": "google-crc32c", "grib": "kerchunk", "FITSAscii": "kerchunk",
    "FITSVarBintable": "kerchunk", "fill_hdf_strings": "kerchunk", "record_member": "kerchunk",
    "gribscan": "gribscan", "gribberish": "gribberish", "flac": "flac-numcodecs",
    "wavpack": "wavpack-numcodecs", "omfiles": "omfiles", "cast_value": "cast-value-rs",
}  # fmt: skip
"""The package that provides a codec, by the name of the codec or its prefix."""


_REGISTERED_BY = {"imagecodecs_": "imagecodecs.numcodecs", "tifffile": "tifffile.numcodecs"}
"""Modules that have to register their codecs with numcodecs: they have no entry points."""
_REGISTRATIONS = {
    "imagecodecs.numcodecs": "imagecodecs.numcodecs.register_codecs(verbose=False)",
    "tifffile.numcodecs": "tifffile.numcodecs.register_codec()",
}


def refuse_unsafe(key: str, text: bytes) -> None:
    """Reject array metadata with a codec that runs code from the data."""
    for codec in _codecs(text):
        if (name := _name(codec).lower()) in _UNSAFE:
            raise DecodeError(
                f"{key} uses the codec {name}, which can run arbitrary code while it decodes "
                "and is never used."
            )


_SINCE_3_2 = frozenset({"scale_offset", "cast_value", "struct"})  # In Zarr itself since 3.2
_NEEDED = {"cast_value": "cast_value_rs"}  # The module that a codec of Zarr requires


def require_codecs(key: str, text: bytes) -> None:
    """Reject array metadata with a codec or data type that no installed package provides."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(document, dict):
        return
    version = 3 if document.get("zarr_format") == 3 else 2
    names = _names_v3(document.get("codecs")) if version == 3 else names_v2(document)
    for name in names:
        if name and not is_installed(name, version):
            raise DecodeError(f"{key} {missing(name, version)}")
    if version == 3 and (lacking := missing_type(document.get("data_type"))) is not None:
        raise DecodeError(f"{key} {lacking}")


def missing_type(written: object) -> str | None:
    """Return a sentence naming an unknown Zarr v3 data type; None if known."""
    if not _name(written):
        return None
    from zarr.core.dtype import data_type_registry, get_data_type_from_json

    name, document = _name(written), cast(Any, written)
    try:
        get_data_type_from_json(document, zarr_format=3)
    except Exception:  # Zarr's data types raise any error
        if name in data_type_registry.contents:
            return None  # a known type with wrong settings, which other rules explain better
        shown = escape(name, 100)
        if name in _SINCE_3_2:
            return f"requires the data type {shown}, {_newer_zarr_text()}"
        return f"requires the data type {shown}, which no installed package provides."
    return None


def _newer_zarr_text() -> str:
    import zarr

    return (
        "which needs Zarr 3.2 or newer, with Python 3.12 or newer; "
        f"Zarr {zarr.__version__} is installed."
    )


def _names_v3(codecs: object) -> Iterator[str]:
    """Yield the names of Zarr v3 codecs, including those inside shards."""
    waiting = _list(codecs)[:_CODECS]
    for codec in waiting:
        yield _name(codec)
        settings = codec.get("configuration") if isinstance(codec, Mapping) else None
        if isinstance(settings, Mapping) and len(waiting) < _CODECS:
            waiting += _list(settings.get("codecs")) + _list(settings.get("index_codecs"))


def missing_codec(array: ArrayMeta) -> str | None:
    """Return a sentence on an array's unusable codec; None if all can be used."""
    try:
        require_codecs(array.path, json.dumps(array.metadata).encode())
    except DecodeError as lacking:
        return str(lacking)
    return None


def names_v2(metadata: Mapping[str, object]) -> list[str]:
    """Return the codec names of a Zarr v2 array, some empty."""
    return [*map(_name, _list(metadata.get("filters"))), _name(metadata.get("compressor"))]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def is_installed(name: str, zarr_format: int) -> bool:
    """Return whether a codec of this name can be used."""
    from numcodecs.registry import codec_registry, entries

    short = name.removeprefix("numcodecs.")
    if zarr_format == 2 or short != name:
        return short in codec_registry or short in entries or _is_registered_now(short)
    if name in _NEEDED and find_spec(_NEEDED[name]) is None:
        return False
    return _has_class(name)


def _has_class(name: str) -> bool:
    from zarr.registry import get_codec_class

    try:
        get_codec_class(name)
    except Exception:  # a registry may raise any error
        return False
    return True


def registering(name: str) -> str | None:
    """Return the module that registers a Zarr v2 codec; None if there is none."""
    short = name.removeprefix("numcodecs.")
    return next(
        (module for start, module in _REGISTERED_BY.items() if short.startswith(start)), None
    )


def registration(module: str) -> str:
    """Return the line of Python that registers the codecs of a module."""
    return _REGISTRATIONS[module]


def _is_registered_now(name: str) -> bool:
    """Register a codec in this process; return whether that succeeded."""
    from numcodecs.registry import codec_registry

    module = registering(name)
    if module is None:
        return False
    try:
        found = import_module(module)
    except ImportError:
        return False
    if module == "tifffile.numcodecs":
        found.register_codec()
    else:
        found.register_codecs([name], verbose=False)
    return name in codec_registry


def missing(name: str, zarr_format: int) -> str:
    """Return the predicate of a message, which names a codec and the package that provides it."""
    short = name.removeprefix("numcodecs.")
    start = max((each for each in _PACKAGES if short.startswith(each)), key=len, default="")
    package = _PACKAGES.get(start)
    if zarr_format == 3 and name in _SINCE_3_2 and not _has_class(name):
        return f"requires the codec {name}, {_newer_zarr_text()}"
    if zarr_format == 3 and is_installed(short, 2):
        return f"requires the codec {name}, which is installed for Zarr v2 only, not for Zarr v3."
    if package is None:
        return f"requires the codec {name}, which no installed package provides."
    if (module := registering(short)) is not None and find_spec(module.partition(".")[0]):
        return f"requires the codec {name}, which the installed {package} lacks."
    return f"requires the codec {name}, which is not installed: `pip install {package}`."


def _name(codec: object) -> str:
    if isinstance(codec, Mapping):
        codec = codec.get("id", codec.get("name"))
    return codec if isinstance(codec, str) else ""


def _codecs(text: bytes) -> Iterator[dict[str, object]]:
    """Yield possible codecs; without recursion, since the metadata may be nested deeply."""
    try:
        queue = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while queue:
        item = queue.pop()
        if isinstance(item, dict):
            yield from ({"name": item[key]} for key in ("id", "name") if key in item)
            queue.extend(item.values())
        elif isinstance(item, list):
            queue.extend(item)
