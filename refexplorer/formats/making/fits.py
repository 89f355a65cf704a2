"""References to the extensions of a FITS file, by kerchunk and astropy.

kerchunk takes the first extension that has data, unless it is told which, and one at a time here:
names may stand twice in a file. What it makes of scaled numbers and of compressed images reads as
other values (0.2.10), so that the one is mended and the other left out. It has no word for
``BLANK``, the integer of undefined values (FITS Standard 4.0, 4.4.2.5), which is ``_FillValue``
here.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from refexplorer.errors import LeftOutWarning, SourceError
from refexplorer.formats.datafiles.fits import undefined_value
from refexplorer.formats.making.streams import WatchedStream
from refexplorer.markup import escape

_NAMES = 10
"""Extensions that a warning names."""
_AXES = ("z", "y", "x")


def of_fits(stream: WatchedStream, url: str, guarded: bool) -> dict[str, Any]:
    """Return references to all extensions that have data, each an array of its name.

    Raises
    ------
    SourceError
        If there is none that can be referred to.
    """
    from kerchunk.fits import process_file

    from refexplorer.formats.making.lent_files import lent  # it takes fsspec

    wanted, left = _extensions(stream)
    if not wanted:
        raise SourceError(f"it has no data that can be referred to{_named(left)}")
    arrays: dict[str, _FitsArray] = {}
    with lent(stream) as name:
        for number, version in wanted:
            stream.seek(0)
            made = process_file(name, extension=[number], inline_threshold=0)
            array = _FitsArray(made)
            if array.name in arrays:
                array.rename(f"{array.name}_{version}")
            if array.name in arrays:
                array.rename(f"{array.name}_{number}")
            arrays[array.name] = array
    shapes = [each.metadata["shape"] for each in arrays.values()]
    is_alike = all(shape == shapes[0] for shape in shapes)
    refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}'}
    for each in arrays.values():
        refs |= each.references(url, is_alike)
    if left:
        warnings.warn(
            f"{len(left):,} of {len(left) + len(wanted):,} extensions with data are left out"
            f"{_named(left)}.",
            LeftOutWarning,
            stacklevel=2,
        )
    return refs


def _extensions(stream: WatchedStream) -> tuple[list[tuple[int, int]], list[str]]:
    """Return the numbers and versions of those to refer to, and why others are left."""
    from astropy.io import fits

    from refexplorer.formats.making.lent_files import LentFile

    wanted, left = list[tuple[int, int]](), list[str]()
    stream.seek(0)
    with fits.open(LentFile(stream), do_not_scale_image_data=True) as file:
        for number, unit in enumerate(file):
            if not unit.header.get("NAXIS", 0):
                continue
            if why := _unfit(unit):
                left.append(f"{escape(unit.name or str(number), 80)} {why}")
            else:
                wanted.append((number, unit.ver))
    return wanted, left


def _unfit(unit: Any) -> str | None:
    """Say why no byte range of a file is the data of an extension."""
    from astropy.io import fits

    if isinstance(unit, fits.CompImageHDU):
        return "is a compressed image"
    if isinstance(unit, fits.GroupsHDU):
        return "has random groups"
    if not (unit.is_image or isinstance(unit, fits.TableHDU | fits.BinTableHDU)):
        return "is of a kind that is not known"
    sizes = [unit.header.get(f"NAXIS{n + 1}", 0) for n in range(unit.header["NAXIS"])]
    return None if all(sizes) else "is empty"


def _named(left: list[str]) -> str:
    more = f" and {len(left) - _NAMES:,} more" if len(left) > _NAMES else ""
    return f": {', '.join(left[:_NAMES])}{more}" if left else ""


class _FitsArray:
    """The array that kerchunk makes of one extension.

    Attributes
    ----------
    name
        Of the extension.
    metadata
        Its ``.zarray``.
    """

    def __init__(self, made: dict[str, Any]) -> None:
        (key,) = (key for key in made if key.endswith("/.zarray"))
        self.name = self._prefix = key.removesuffix("/.zarray")
        self._made = made
        self.metadata: dict[str, Any] = json.loads(made[key])
        self._is_table = isinstance(self.metadata["dtype"], list)
        self.metadata["fill_value"] = None  # the one chunk is always there; xarray would mask 0
        for codec in self.metadata["filters"] or ():
            if codec["id"] == "fixedscaleoffset":  # FITS multiplies where numcodecs divides
                codec["scale"] = 1 / codec["scale"]
                self.metadata["dtype"] = codec["dtype"]

    def rename(self, name: str) -> None:
        """Give it another name."""
        self.name = name

    def references(self, url: str, is_alike: bool) -> dict[str, Any]:
        """Return its references; its dimensions bear its name unless all arrays are alike."""
        return dict(self._references(url, is_alike))

    def _references(self, url: str, is_alike: bool) -> Iterator[tuple[str, Any]]:
        start = f"{self._prefix}/"
        for key, value in self._made.items():
            if not key.startswith(start):
                continue
            rest = key.removeprefix(start)
            if rest == ".zarray":
                value = json.dumps(self.metadata)
            elif rest == ".zattrs":
                value = json.dumps(self._attributes(value, is_alike))
            elif isinstance(value, list | tuple):
                value = [url, *value[1:]]
            yield f"{self.name}/{rest}", value

    def _attributes(self, text: Any, is_alike: bool) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(text) | self._missing(json.loads(text))
        rank = len(self.metadata["shape"])
        names = [f"axis{rank - n}" for n in range(rank - len(_AXES))]
        names += _AXES[-rank:] if rank else ()
        if not is_alike:
            names = [f"{self.name}_{each}" for each in names]
        return found | {"_ARRAY_DIMENSIONS": names}

    def _missing(self, header: dict[str, Any]) -> dict[str, Any]:
        """Return the attribute that says which value is undefined, as the array is decoded."""
        found = None if self._is_table else undefined_value(header)
        if found is None:
            return {}
        bits = header["BITPIX"]
        limits = np.iinfo(f"{'u' if bits == 8 else 'i'}{bits // 8}")
        around = [
            undefined_value(header | {"BLANK": number})
            for number in (header["BLANK"] - 1, header["BLANK"] + 1)
            if limits.min <= number <= limits.max
        ]
        if found in around:
            warnings.warn(
                f"{escape(self.name, 80)} has numbers of {bits} bits that are scaled: some next to "
                f"its BLANK, {header['BLANK']}, become the same, and are missing, too.",
                LeftOutWarning,
                stacklevel=2,
            )
        return {"_FillValue": found}
