"""Opening a target in the format indicated by its first bytes."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from refexplorer.formats.datafiles.data_file import SizedDataFile, Unread
from refexplorer.formats.datafiles.netcdf3 import NetCdf3File
from refexplorer.formats.other_files import kind_of
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources.confined import ConfinedFile
from refexplorer.io.sources.target_file import BLOCK, TargetFile
from refexplorer.io.sources.zarr_files import find_array

_FORMS = {"hdf5": "HDF5", "netcdf3": "NetCDF3", "tiff": "TIFF", "fits": "FITS", "grib": "GRIB"}
_SUFFIXES = {
    **dict.fromkeys((".nc4", ".h5", ".hdf5", ".he5"), "HDF5"),
    ".nc": "HDF5 and NetCDF3",
    ".nc3": "NetCDF3",
    **dict.fromkeys((".tif", ".tiff"), "TIFF"),
    **dict.fromkeys((".grib", ".grib2", ".grb", ".grb2"), "GRIB"),
    **dict.fromkeys((".fits", ".fit"), "FITS"),
}
_PACKERS = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x04\x22\x4d\x18", "LZ4"),
)
_PAGE = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_PACKAGES = {"HDF5": "h5py", "TIFF": "tifffile", "FITS": "astropy", "GRIB": "eccodes"}
_OTHERS = ("FITS", "GRIB")  # Formats whose packages the extra does not install


def open_native(targets: Targets, url: str) -> SizedDataFile:
    """Open a target to read its own metadata.

    The cost of an untrusted file is bounded: by `MOST_BYTES` over the network, by the numbers of
    objects, attributes and bytes that each reader visits, and, if a library reads it, by the memory
    and time limits of a child process. No link to another file is followed. See also
    `confined_file`.
    """
    file = TargetFile(targets, url)
    try:
        return _opened(targets, file)
    except BaseException:
        file.close()
        raise


def _opened(targets: Targets, file: TargetFile) -> SizedDataFile:
    form = _form(file.read_at(0, min(BLOCK, targets.limit)))
    if form is None:
        chunk = find_array(targets, file)
        if chunk is not None:
            return chunk
        raise _unknown_form(file)
    if form == "NetCDF3":
        return NetCdf3File(file)
    package = _PACKAGES[form]
    if not _is_installed(package):
        wanted = package if form in _OTHERS else '"refexplorer[verify]"'
        raise Unread(
            "library",
            f"{form} files are read with {package}, which is not installed: "
            f"`pip install {wanted}`.",
        )
    return ConfinedFile(form, targets, file)


def installed_packages() -> list[str]:
    """Return the installed packages among those that read a format."""
    return [package for package in _PACKAGES.values() if _is_installed(package)]


@cache
def _is_installed(package: str) -> bool:
    """Return whether a package is installed; cached, as the search is slow."""
    return find_spec(package) is not None


def _unknown_form(file: TargetFile) -> Unread:
    """Return why a file cannot be compared; damaged if it lacks the expected format."""
    head = file.read_at(0, 512)
    if _PAGE.match(head):
        sentence = "The file is a web page, such as a server sends where it has no such file."
        return Unread("damaged", sentence)
    suffix = PurePosixPath(urlsplit(file.url).path).suffix.lower()
    if packer := next((name for start, name in _PACKERS if head.startswith(start)), ""):
        sentence = (
            f"The file is compressed with {packer} as a whole, so its byte ranges are not those of "
            "the file inside: unpack it, and make the references again."
        )
        return Unread("damaged" if suffix in _SUFFIXES else "format", sentence)
    if (forms := _SUFFIXES.get(suffix)) is not None:
        sentence = f"The file is named {suffix}, and does not begin like {forms} files."
        return Unread("damaged", sentence)
    return Unread(
        "format",
        "The format of the file cannot be compared; these can: HDF5, NetCDF3, TIFF, GRIB, "
        "FITS, and chunks of Zarr arrays.",
    )


def _form(head: bytes) -> str | None:
    is_grib = head.startswith(b"GRIB")  # of any edition
    return "GRIB" if is_grib else _FORMS.get(kind_of(head) or "")
