"""Files that are not reference sets, by their first bytes: how to make references to them.

This needs no reader of another package, and trusts none with the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from glob import has_magic
from pathlib import Path
from typing import Any, TypeGuard

from refexplorer.core.errors import SourceError, SpecError
from refexplorer.core.files import own_path
from refexplorer.core.text import escape

Sources = Sequence["str | os.PathLike[str]"]
_FILES = 10_000  # Files that are opened together
NAME_SHOWN = 200  # Characters of a name in a message


def whole_pattern(pattern: str) -> Path:
    """Return a pattern as an absolute path."""
    return own_path(pattern).absolute()


def fitting(pattern: str) -> Sources:
    """Return the files that match a pattern, sorted by name."""
    full = whole_pattern(pattern)
    root = Path(full.anchor)
    paths = sorted(path for path in root.glob(str(full.relative_to(root))) if path.is_file())
    shown = repr(escape(pattern, NAME_SHOWN))
    if not paths:
        raise SourceError(f"There is no file {shown}, and no file matches it as a pattern.")
    if len(paths) > _FILES:
        raise SourceError(
            f"The pattern {shown} matches {len(paths):,} files, but at most {_FILES:,} can "
            "be opened together."
        )
    return paths


def sources_of(source: object) -> tuple[Sources, str | None]:
    """Return the sources to combine, and the pattern that they match, if there is one."""
    if isinstance(source, list | tuple) and source:
        check_several(source)
        each_of = ((fitting(each) if _is_pattern(each) else [each]) for each in source)
        return [path for paths in each_of for path in paths], None
    if _is_pattern(source):
        return fitting(source), str(whole_pattern(source))
    raise SourceError(
        "Several sources are concatenated along a dimension: pass their paths or URLs as a list, "
        'or a pattern such as "2024*.nc".'
    )


def _is_pattern(source: object) -> TypeGuard[str]:
    return isinstance(source, str) and "://" not in source and has_magic(source)


def check_several(sources: Sequence[object]) -> None:
    """Reject a list that is too long."""
    if len(sources) > _FILES:
        raise SourceError(
            f"{len(sources):,} files were given, but at most {_FILES:,} can be opened together."
        )


def common_folder(folders: Sequence[str]) -> str:
    """Return the longest common folder or URL; ``""`` if there is none."""
    shared = [parts[0] for parts in zip(*(each.split("/") for each in folders), strict=False)]
    for number, parts in enumerate(zip(*(each.split("/") for each in folders), strict=False)):
        if len({*parts}) > 1:
            del shared[number:]
            break
    start = "/".join(shared)
    return "" if start.endswith((":", ":/")) else start


def is_web(source: object) -> bool:
    """Return whether a source is the URL of a web server."""
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))


_STAC = b'"stac_version"'
_INTAKE = re.compile(rb"^(?:sources|data|entries)\s*:", re.MULTILINE)
_DRIVER = re.compile(rb"^\s+(?:driver|args|reader|kwargs)\s*:", re.MULTILINE)


_GEOJSON = re.compile(rb'"type"\s*:\s*"Feature(?:Collection)?"')
_OPEN_SET = "open a file that kerchunk or VirtualiZarr wrote, or a data file"


def is_stac_set(head: bytes) -> bool:
    """Return whether a STAC item or collection contains references, as written by xstac."""
    return _STAC in head and b'"kerchunk:z' in head and head.lstrip().startswith(b"{")


def stac_references(document: object) -> dict[str, Any] | None:
    """Return the references in a STAC item's properties, or in a collection; None without any."""
    if not isinstance(document, Mapping) or {"refs", ".zgroup"} & document.keys():
        return None
    if not isinstance(document.get("stac_version"), str):
        return None
    properties = document.get("properties")
    within = properties if isinstance(properties, Mapping) else document
    found = _stac_node("", within)
    for kind in ("cube:dimensions", "cube:variables"):
        arrays = within.get(kind)
        for name, array in arrays.items() if isinstance(arrays, Mapping) else ():
            if isinstance(array, Mapping):
                found |= _stac_node(f"{name}/", array)
    return found or None


def _stac_node(folder: str, node: Mapping[str, Any]) -> dict[str, Any]:
    names = ("zgroup", "zarray", "zattrs")
    found = {f"{folder}.{name}": node.get(f"kerchunk:{name}") for name in names}
    chunks = node.get("kerchunk:value")
    if isinstance(chunks, Mapping):
        found |= {f"{folder}{key}": value for key, value in chunks.items()}
    return {key: value for key, value in found.items() if value is not None}


_ZARR_KEYS = (".zgroup", ".zarray", "zarr.json")
_SET_KEYS = (b'"refs"', *map(str.encode, _ZARR_KEYS))
_FORMAT_KEYS = (b'"zarr_format"', b'"zarr_consolidated_format"', b'"nbformat"', b'"esmcat_version"')
PROBE = 2**16  # Bytes that identify nearly every file
_HDF5 = b"\x89HDF\r\n\x1a\n"
_HDF5_PLACES = (0, *(512 * 2**power for power in range(11)))
"""Offsets of the superblock: after no user block, or one of 512 bytes times a power of 2."""
_GRIB = re.compile(rb"GRIB.{3}([\x01\x02])", re.DOTALL)
_GRIB_HEADING = 128  # Bytes of a bulletin's heading before the first message
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip and zstd, which may keep a start readable
_NOTEBOOK = re.compile(rb'\s*\{\s*"cells"\s*:\s*\[\s*\{')
_PAGE = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.DOTALL | re.IGNORECASE)
_INDEX = re.compile(rb'\d+(?:\.\d+)?:\d+:d=\d|\{[^{}\n]*"_offset"\s*:[^{}\n]*\}\s*(?:\{|$)')
"""Lines of an index of a GRIB file, as written by wgrib2, or as JSON by ECMWF."""
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/")
_XML = re.compile(rb"\s*<(?:\?xml|[A-Za-z])")
_MARK = b"\xef\xbb\xbf"
_MAKE = (
    "to open it directly, run `pip install 'refexplorer[virtual]'` (and unpack it if it is "
    "compressed); or create references with {} and open those"
)
_MAKE_GRIB = (
    "to open it in Python or by a command, run `pip install 'refexplorer[virtual]' eccodes`; or "
    "create references with `kerchunk.grib2.scan_grib` and open those"
)
_GRIB1 = "no tool creates references to its messages; convert it to GRIB2 or NetCDF4"
_MAKE_VIRTUAL = _MAKE.format("`kerchunk.{}` or `virtualizarr.open_virtual_dataset` ({})")
_HDF5_REMEDY = _MAKE_VIRTUAL.format("hdf.SingleHdf5ToZarr", "HDFParser")
_NETCDF3 = _MAKE_VIRTUAL.format("netCDF3.NetCDF3ToZarr", "NetCDF3Parser")
_FITS = _MAKE_VIRTUAL.format("fits.process_file", "FITSParser")
_TIFF = _MAKE.format("`kerchunk.tiff.tiff_to_zarr` or the package virtual-tiff")
_UNPACK = "unpack it and open what is inside"
_STORED = "references are stored as JSON, parquet or Icechunk"
_RECORDS = "if it is a record file of a reference store, open the folder with `.zmetadata`"
_IMAGE = "an image has no references"

FileKind = tuple[str, str]  # The kind of a file, and what to do with it

_NOTEBOOK_KIND = "a Jupyter notebook", "open it in JupyterLab"
_TEXTS: tuple[tuple[re.Pattern[bytes], FileKind], ...] = (
    (_PAGE, ("an HTML page", "it may be a login or error page; use the URL of the file itself")),
    (_INDEX, ("an index of a GRIB file", "open the GRIB file itself")),
    (_POINTER, ("a Git LFS pointer", "fetch the file itself with `git lfs pull`")),
    (_NOTEBOOK, _NOTEBOOK_KIND),
)

_STARTS: dict[bytes, FileKind] = {
    b"CDF\x01": ("a NetCDF3 file", _NETCDF3),
    b"CDF\x02": ("a NetCDF3 file (64-bit offsets)", _NETCDF3),
    b"CDF\x05": ("a NetCDF3 file (64-bit data)", _NETCDF3),
    b"II*\0": ("a TIFF file", _TIFF),
    b"MM\0*": ("a TIFF file", _TIFF),
    b"II+\0": ("a BigTIFF file", _TIFF),
    b"MM\0+": ("a BigTIFF file", _TIFF),
    b"SIMPLE  =": ("a FITS file", _FITS),
    b"\x0e\x03\x13\x01": (
        "an HDF4 file", "create references with `kerchunk.hdf4.HDF4ToZarr` and open those"
    ),
    b"BUFR": ("a BUFR file", "no tool creates references to its messages; convert it to NetCDF4"),
    b"PAR1": ("a parquet file", _RECORDS),
    "ICE\U0001f9caCHUNK".encode(): (
        "a part of an Icechunk repository", "open the folder of the repository"
    ),
    b"ARROW1": ("an Arrow IPC file", _STORED),
    b"SQLite format 3\0": ("an SQLite database", _STORED),
    b"\x93NUMPY": ("a NumPy array", _STORED),
    b"\x89PNG\r\n": ("a PNG image", _IMAGE),
    b"\xff\xd8\xff": ("a JPEG image", _IMAGE),
    b"%PDF-": ("a PDF document", "open the reference set itself"),
    b"BZh": ("a bzip2 file", _UNPACK),
    b"\xfd7zXZ\0": ("an xz file", _UNPACK),
    b"\x04\x22\x4d\x18": ("an LZ4 file", _UNPACK),
}  # fmt: skip
_KINDS = {_NETCDF3: "netcdf3", _TIFF: "tiff", _FITS: "fits"}
_ZARR = "open it with `zarr.open` or `xarray.open_zarr`; references to it are not needed"


def is_zip(head: bytes) -> bool:
    """Return whether a file is a zip archive, which may contain a parquet store."""
    return head.startswith((b"PK\3\4", b"PK\5\6"))


def refuse_other(name: str, head: bytes) -> None:
    """Reject a file that is not a document of references."""
    kind = _of_bytes(head)
    if kind is not None:
        raise _refused(name, kind)


_NAMED = {
    ".nc": "NetCDF", ".nc4": "NetCDF", ".cdf": "NetCDF", ".h5": "HDF5", ".hdf5": "HDF5",
    ".he5": "HDF5", ".grb2": "GRIB2", ".grib2": "GRIB2", ".tif": "TIFF", ".tiff": "TIFF",
    ".fits": "FITS",
}  # fmt: skip


def named_kind(name: str) -> str | None:
    """Return the kind of data file that a name stands for, or None."""
    return _NAMED.get(Path(name).suffix.lower())


def refuse_named(name: str, head: bytes) -> None:
    """Reject a file named like a data file that has neither its signature nor JSON."""
    kind = named_kind(name)
    if kind is not None and not head.lstrip().startswith((b"{", b"[", b"\xef\xbb\xbf")):
        starts = escape(repr(head[:8])[1:], 60)
        raise SpecError(
            f"{name} is named like a {kind} file, but does not begin like one: its first bytes are "
            f"{starts}. It may be damaged, or only partly downloaded; download it again.",
        )


def refuse_early(name: str, head: bytes) -> None:
    """Reject what no format can read, before all of it is fetched."""
    if not is_zip(head):
        refuse_other(name, head)


def refuse_zarr(name: str, has: Callable[[str], bool]) -> None:
    """Reject a folder that is a Zarr store."""
    for key in _ZARR_KEYS:
        if has(key):
            form = "v3" if key == "zarr.json" else "v2"
            raise _refused(name, (f"a Zarr {form} store", _ZARR))


def _refused(name: str, kind: FileKind) -> SpecError:
    what, remedy = kind
    return SpecError(f"{name} is {what}, not a reference set; {remedy}.")


def is_dmrpp(head: bytes) -> bool:
    """Return whether a file is a DMR++ document, which contains references."""
    return _XML.match(head.removeprefix(_MARK)) is not None and b"dmrpp" in head


def kind_of(head: bytes) -> str | None:
    """Return the kind of a data file for which references can be generated, or None."""
    if any(head.startswith(_HDF5, place) for place in _HDF5_PLACES):
        return "hdf5"
    for start, (_, remedy) in _STARTS.items():
        if remedy in _KINDS and head.startswith(start):
            return _KINDS[remedy]
    if head.startswith(_PACKED):
        return None
    found = _GRIB.search(head, 0, _GRIB_HEADING)
    return "grib" if found is not None and found[1] == b"\2" else None


def _of_bytes(head: bytes) -> FileKind | None:
    if any(head.startswith(_HDF5, place) for place in _HDF5_PLACES):
        return "an HDF5 or NetCDF4 file", _HDF5_REMEDY
    for start, kind in _STARTS.items():
        if head.startswith(start):
            return kind
    if (found := _GRIB.search(head, 0, _GRIB_HEADING)) is not None:
        remedy = _MAKE_GRIB if found[1] == b"\2" else _GRIB1
        return f"a GRIB{found[1][0]} file", remedy
    if is_zip(head):
        if any(key.encode() in head for key in _ZARR_KEYS):
            return "a Zarr store in a zip file", "open it with `zarr.storage.ZipStore`"
        return "a zip file", _UNPACK
    if head[257:262] == b"ustar":
        return "a tar archive", _UNPACK
    return _of_text(head)


def _of_text(head: bytes) -> FileKind | None:
    for pattern, kind in _TEXTS:
        if pattern.match(head):
            return kind
    if _XML.match(head):
        if is_dmrpp(head):
            return None
        return "an XML document", "open the reference set itself"
    if head.lstrip().startswith(b"{"):
        if _STAC in head and not is_stac_set(head) and not any(key in head for key in _SET_KEYS):
            return "a STAC document", "open the reference set that one of its assets links to"
        if _GEOJSON.search(head) and not any(key in head for key in _SET_KEYS):
            return "GeoJSON", _OPEN_SET
    elif _INTAKE.search(head) and _DRIVER.search(head):
        return "an intake catalogue", "open the reference set of an entry (its `fo`)"
    if len(head) <= PROBE and any(key in head for key in _FORMAT_KEYS):
        return _of_document(head)
    return None


def _of_document(head: bytes) -> FileKind | None:
    try:
        document = json.loads(head)
    except (ValueError, RecursionError):
        return None
    if isinstance(document, dict) and any(
        isinstance(document.get(key), int) for key in ("zarr_format", "zarr_consolidated_format")
    ):
        return "the metadata of a Zarr store", "open the folder that it is in"
    if isinstance(document, dict) and isinstance(document.get("esmcat_version"), str):
        return "an intake-esm catalogue", "open one of the assets that it lists"
    if isinstance(document, dict) and isinstance(document.get("nbformat"), int):
        return _NOTEBOOK_KIND
    return None
