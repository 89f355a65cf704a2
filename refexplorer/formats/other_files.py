"""Files that are no reference sets, told by their first bytes, and what makes references of them.

No reader of another package is needed for it, nor trusted with the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from refexplorer.core.errors import SpecError

_ZARR_KEYS = (".zgroup", ".zarray", "zarr.json")
PROBE = 2**16
"""Bytes that tell nearly every file."""
_HDF5 = b"\x89HDF\r\n\x1a\n"
_HDF5_PLACES = (0, *(512 * 2**power for power in range(11)))
"""Before the superblock a file may have a block of its user, of 512 bytes or a doubling of that."""
_GRIB = re.compile(rb"GRIB.{3}([\x01\x02])", re.DOTALL)
_GRIB_HEADING = 128
"""Bytes of a heading that bulletins have before the first message."""
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
"""gzip and zstd, which may leave the start of a file readable."""
_NOTEBOOK = re.compile(rb'\s*\{\s*"cells"\s*:\s*\[\s*\{')
_PAGE = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.DOTALL | re.IGNORECASE)
_XML = re.compile(rb"\s*<(?:\?xml|[A-Za-z])")
_MARK = b"\xef\xbb\xbf"
_MAKE = (
    "make references to it with {} and open those; with `refexplorer[virtual]` installed such a "
    "file opens by itself, if it is not compressed"
)
_MAKE_ALONE = "make references to it with {} and open those"
_MAKE_GRIB = (
    "make references to it with `kerchunk.grib2.scan_grib` and open those; with "
    "`refexplorer[virtual]` and eccodes installed, Python and the commands open such a "
    "file by itself"
)
_GRIB1 = "no tool makes references to its messages; convert it to GRIB2 or NetCDF4"
_VIRTUALIZARR = "`virtualizarr.open_virtual_dataset` ({})"
_UNPACK = "unpack it and open what is inside"

FileKind = tuple[str, str]
"""The kind of a file, and what to do with it."""

_STARTS: dict[bytes, FileKind] = {
    b"CDF\x01": ("a NetCDF3 file", ""),
    b"CDF\x02": ("a NetCDF3 file (64-bit offsets)", ""),
    b"CDF\x05": ("a NetCDF3 file (64-bit data)", ""),
    b"II*\0": ("a TIFF file", ""),
    b"MM\0*": ("a TIFF file", ""),
    b"II+\0": ("a BigTIFF file", ""),
    b"MM\0+": ("a BigTIFF file", ""),
    b"SIMPLE  =": (
        "a FITS file",
        _MAKE.format(f"`kerchunk.fits.process_file` or {_VIRTUALIZARR.format('FITSParser')}"),
    ),
    b"\x0e\x03\x13\x01": ("an HDF4 file", _MAKE_ALONE.format("`kerchunk.hdf4.HDF4ToZarr`")),
    b"BUFR": ("a BUFR file", "no tool makes references to its messages; convert it to NetCDF4"),
    b"PAR1": (
        "a parquet file",
        "if it is a record file of a reference store, open the folder that holds `.zmetadata`",
    ),
    b"ICE\xf0\x9f\xa7\x8aCHUNK": (
        "a part of an Icechunk repository",
        "open the folder of the repository",
    ),
    b"ARROW1": ("an Arrow IPC file", "references are stored as JSON, parquet or Icechunk"),
    b"SQLite format 3\0": (
        "an SQLite database",
        "references are stored as JSON, parquet or Icechunk",
    ),
    b"\x93NUMPY": ("a NumPy array", "references are stored as JSON, parquet or Icechunk"),
    b"\x89PNG\r\n": ("a PNG image", "no references can be made to an image"),
    b"\xff\xd8\xff": ("a JPEG image", "no references can be made to an image"),
    b"%PDF-": ("a PDF document", "open the reference set itself"),
    b"BZh": ("a bzip2 file", _UNPACK),
    b"\xfd7zXZ\0": ("an xz file", _UNPACK),
    b"\x04\x22\x4d\x18": ("an LZ4 file", _UNPACK),
}
_KINDS: dict[str, tuple[bytes, ...]] = {
    "netcdf3": (b"CDF\x01", b"CDF\x02", b"CDF\x05"),
    "tiff": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    "fits": (b"SIMPLE  =",),
}
_NETCDF3 = _MAKE.format(
    f"`kerchunk.netCDF3.NetCDF3ToZarr` or {_VIRTUALIZARR.format('NetCDF3Parser')}"
)
_TIFF = _MAKE.format("`kerchunk.tiff.tiff_to_zarr` or the package virtual-tiff")
_ZARR = "open it with `zarr.open` or `xarray.open_zarr`; references to it are not needed"


def refuse_other(name: str, head: bytes) -> None:
    """Refuse a file that is something else than a document of references."""
    kind = _of_bytes(head)
    if kind is not None:
        raise _refused(name, kind)


def refuse_zarr(name: str, has: Callable[[str], bool]) -> None:
    """Refuse a folder that is a Zarr store."""
    for key in _ZARR_KEYS:
        if has(key):
            form = "v3" if key == "zarr.json" else "v2"
            raise _refused(name, (f"a Zarr {form} store", _ZARR))


def _refused(name: str, kind: FileKind) -> SpecError:
    what, remedy = kind
    return SpecError(f"{name} is {what}, not a reference set; {remedy}.", code="not-json")


def is_dmrpp(head: bytes) -> bool:
    """Say whether a file is a DMR++ document, which holds references."""
    return _XML.match(head.removeprefix(_MARK)) is not None and b"dmrpp" in head


def kind_of(head: bytes) -> str | None:
    """Return the kind of a data file to which references can be made on the fly, or None."""
    if any(head.startswith(_HDF5, place) for place in _HDF5_PLACES):
        return "hdf5"
    for kind, starts in _KINDS.items():
        if head.startswith(starts):
            return kind
    if head.startswith(_PACKED):
        return None
    found = _GRIB.search(head, 0, _GRIB_HEADING)
    return "grib" if found is not None and found[1] == b"\2" else None


def _of_bytes(head: bytes) -> FileKind | None:
    if any(head.startswith(_HDF5, place) for place in _HDF5_PLACES):
        makers = f"`kerchunk.hdf.SingleHdf5ToZarr` or {_VIRTUALIZARR.format('HDFParser')}"
        return "an HDF5 or NetCDF4 file", _MAKE.format(makers)
    for start, (what, remedy) in _STARTS.items():
        if head.startswith(start):
            return what, remedy or (_NETCDF3 if start.startswith(b"CDF") else _TIFF)
    if (found := _GRIB.search(head, 0, _GRIB_HEADING)) is not None:
        remedy = _MAKE_GRIB if found[1] == b"\2" else _GRIB1
        return f"a GRIB{found[1][0]} file", remedy
    if head.startswith((b"PK\3\4", b"PK\5\6")):
        if any(key.encode() in head for key in _ZARR_KEYS):
            return "a Zarr store in a zip file", "open it with `zarr.storage.ZipStore`"
        return "a zip file", _UNPACK
    if head[257:262] == b"ustar":
        return "a tar archive", _UNPACK
    return _of_text(head)


def _of_text(head: bytes) -> FileKind | None:
    if _PAGE.match(head):
        return "an HTML page", "it may be a login or error page; use the URL of the file itself"
    if _XML.match(head):
        if is_dmrpp(head):
            return None
        return "an XML document", "open the reference set itself"
    if _NOTEBOOK.match(head):
        return _NOTEBOOK_KIND
    if len(head) <= PROBE and (b'"zarr_format"' in head or b'"nbformat"' in head):
        return _of_document(head)
    return None


_NOTEBOOK_KIND = "a Jupyter notebook", "open it in JupyterLab"


def _of_document(head: bytes) -> FileKind | None:
    try:
        document = json.loads(head)
    except (ValueError, RecursionError):
        return None
    if isinstance(document, dict) and isinstance(document.get("zarr_format"), int):
        return "the metadata of a Zarr store", f"of the folder that it is in: {_ZARR}"
    if isinstance(document, dict) and isinstance(document.get("nbformat"), int):
        return _NOTEBOOK_KIND
    return None
