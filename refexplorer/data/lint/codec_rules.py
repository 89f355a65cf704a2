"""Codecs that nothing installed brings, and metadata that Zarr itself refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from refexplorer.data.decode.codecs import is_installed, missing, refuse_unsafe
from refexplorer.errors import RefexplorerError
from refexplorer.refset.opened.opened_set import OpenedSet
from refexplorer.spec.core.diagnostics import Findings, pointer
from refexplorer.spec.core.suggestions import meant
from refexplorer.spec.core.zarr_metadata import ArrayMeta
from refexplorer.spec.document.array_rules import remarks_on_metadata

_KNOWN: dict[str, set[str]] = {
    "zlib": {"level"}, "gzip": {"level"}, "bz2": {"level"}, "zstd": {"level", "checksum"},
    "lz4": {"acceleration"}, "blosc": {"cname", "clevel", "shuffle", "blocksize", "typesize"},
    "shuffle": {"elementsize"}, "fletcher32": set(), "crc32c": set(), "vlen-utf8": set(),
    "bytes": {"endian"}, "transpose": {"order"}, "delta": {"dtype", "astype"},
    "fixedscaleoffset": {"offset", "scale", "dtype", "astype"},
}  # fmt: skip
"""Codecs that are always there, and their settings: Zarr, slow to import, is asked of others."""
_PLAIN_V3 = frozenset(
    {
        "zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding",
        "fill_value", "codecs", "attributes", "dimension_names", "consolidated_metadata",
    }
)  # fmt: skip
_PLAIN_TYPES = frozenset(
    {"bool", *(f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64))}
) - {"float8"}


_PLAIN_ENCODINGS: list[Any] = [
    {"name": "default"},
    *(
        {"name": name, "configuration": {"separator": separator}}
        for name in ("default", "v2")
        for separator in ("/", ".")
    ),
]
_TO_BYTES = ("bytes", "vlen-utf8", "sharding_indexed")


def lint_codecs(opened: OpenedSet, base: str, findings: Findings) -> frozenset[str]:
    """Note what keeps Zarr from decoding an array.

    Returns
    -------
    The paths of the arrays of which there is nothing to note.
    """
    problems: dict[str, tuple[str, str] | None] = {}  # many arrays have the same metadata
    good: set[str] = set()
    for array in opened.arrays.below(opened.tree.root):
        text = _text(array)
        if text not in problems:
            problems[text] = _problem(array, text)
        problem, key = problems[text], array.metadata_key
        if problem is None:
            good.add(array.path)
        else:
            code, said = problem
            findings.add(code, base + pointer(key), f"`{array.path}` {said}", key=key)
    return frozenset(good)


def _text(array: ArrayMeta) -> str:
    kept = {name: value for name, value in array.metadata.items() if name != "attributes"}
    return json.dumps(kept)


def _problem(array: ArrayMeta, text: str) -> tuple[str, str] | None:
    """Return the code and the rest of the sentence of what is wrong; None if nothing is."""
    codecs = list(_codecs(array))
    is_plain = array.zarr_format == 2 or _is_plain(array)
    if is_plain and all(_is_known(*codec) for codec in codecs):
        return None
    try:
        refuse_unsafe("array", text.encode())
    except RefexplorerError as error:
        return "unsafe-codec", f"{error}".removeprefix("array ")
    for name, _ in codecs:
        if name and not is_installed(name, array.zarr_format):
            guess = meant(name, _KNOWN)
            return "codec-not-installed", f"{missing(name)} {guess}".rstrip()
    if any(remarks_on_metadata(array.metadata_key, text)):  # noted already, and better
        return None
    refusal = _refusal(array)
    return None if refusal is None else ("bad-metadata", f"cannot be opened by Zarr: {refusal}.")


def _codecs(array: ArrayMeta) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the names and settings of the codecs."""
    written: Any = array.metadata
    if array.zarr_format == 3:
        codecs = written.get("codecs")
        for codec in codecs if isinstance(codecs, list) else ():
            named = codec if isinstance(codec, Mapping) else {"name": codec}
            yield str(named.get("name", "")), named.get("configuration") or {}
        return
    filters = written.get("filters")
    for codec in [*(filters if isinstance(filters, list) else ()), written.get("compressor")]:
        if isinstance(codec, Mapping):
            settings = {name: value for name, value in codec.items() if name != "id"}
            yield str(codec.get("id", "")), settings


def _is_known(name: str, settings: object) -> bool:
    return name in _KNOWN and isinstance(settings, Mapping) and settings.keys() <= _KNOWN[name]


def _is_plain(array: ArrayMeta) -> bool:
    """Say whether metadata of Zarr v3 have only what the lint rules of the specification know."""
    written: Any = array.metadata
    encoding, codecs = written.get("chunk_key_encoding"), written.get("codecs")
    return (
        written.keys() <= _PLAIN_V3
        and str(written.get("data_type")) in _PLAIN_TYPES
        and encoding in _PLAIN_ENCODINGS
        and isinstance(codecs, list)
        and [_name(codec) for codec in codecs if _name(codec) in _TO_BYTES] == ["bytes"]
        and _name(codecs[0]) in ("bytes", "transpose")
    )


def _name(codec: object) -> object:
    return codec.get("name") if isinstance(codec, Mapping) else codec


def _refusal(array: ArrayMeta) -> str | None:
    """Return why Zarr does not take the metadata of an array."""
    import zarr.core.metadata as zarr_metadata

    kinds: Any = {2: zarr_metadata.ArrayV2Metadata, 3: zarr_metadata.ArrayV3Metadata}
    try:
        kinds[array.zarr_format].from_dict(dict(array.metadata))
    except Exception as error:  # Zarr and the codecs raise what they like
        return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
    return None
