"""A process that opens damaged files, or has the library of their format read them.

It is given lines of JSON, and answers each with one: what was found, which a driver judges.
"""

from __future__ import annotations

import hashlib
import json
import resource
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

MEMORY = 3 * 10**9
SECONDS = 20
MOST = 2_000_000
"""Elements of an array that is read."""
Found = dict[str, Any]


def digest(values: Any) -> str:
    """Name values by what they are, whatever their byte order."""
    array = np.asarray(values)
    native = array.astype(array.dtype.newbyteorder("="))
    return f"{array.shape} {hashlib.sha256(native.tobytes()).hexdigest()[:16]}"


def opened(path: Path) -> Found:
    """Open a file and look at all of it."""
    import refexplorer as rx

    refs = rx.open_references(path)
    shown = str(refs) + refs._repr_html_()
    refs.summary()
    found: Found = {"values": {}, "said": [], "shown": len(shown)}
    found["noted"] = [each.code for each in refs.diagnostics]
    try:
        opened_set: Any = refs.to_zarr()
    except rx.RefexplorerError as error:
        return found | {"said": [_checked(error)]}
    for name in refs.arrays():
        if np.prod([float(n) for n in refs.array(name).shape]) > MOST:
            continue
        try:
            values = (opened_set[name] if name else opened_set)[...]
            found["values"][name] = digest(values)
        except rx.RefexplorerError as error:
            found["said"].append(_checked(error))
        except Exception as error:  # not ours: a fault, which the driver tells
            found["raised"] = f"{name}: {type(error).__name__}: {error}"[:300]
    return found


def _checked(error: Exception) -> str:
    import refexplorer as rx

    said = str(error)
    if isinstance(error, rx.errors.InternalError):
        said = f"This should not happen: {said}"
    return said


def _is_consistent(dataset: Any) -> bool:
    """Say whether HDF5 finds each chunk that it lists: else it reads fill values in their place."""
    if dataset.chunks is None:
        return True
    listed: list[Any] = []
    dataset.id.chunk_iter(listed.append)
    sought = [dataset.id.get_chunk_info_by_coord(each.chunk_offset) for each in listed]
    return [each.byte_offset for each in listed] == [each.byte_offset for each in sought]


def hdf5(path: Path) -> Found:
    """Read with h5py."""
    import h5py

    found: Found = {}
    with h5py.File(path, "r") as file:

        def look(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and item.size is not None and item.size <= MOST:
                try:
                    found[name] = digest(item[...]) if _is_consistent(item) else "unread"
                except Exception:  # as it likes
                    found[name] = "unread"

        file.visititems(look)
    return found


def netcdf3(path: Path) -> Found:
    """Read with netCDF4."""
    import netCDF4

    found: Found = {}
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        for name, variable in file.variables.items():
            found[name] = digest(variable[...]) if variable.size <= MOST else "unread"
    return found


def tiff(path: Path) -> Found:
    """Read with tifffile."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        (series, *_) = file.series
        return {"": digest(series.asarray())} if series.size <= MOST else {}


def fits(path: Path) -> Found:
    """Read with astropy."""
    from astropy.io import fits as reader

    with reader.open(path, do_not_scale_image_data=True) as file:
        return {
            unit.name: digest(unit.data)
            for unit in file
            if unit.header.get("NAXIS") and unit.is_image and "BSCALE" not in unit.header
        }


def zarrs(path: Path) -> Found:
    """Read with Zarr."""
    import zarr

    group = zarr.open_group(str(path), mode="r")
    return {name: digest(array[...]) for name, array in group.arrays() if array.size <= MOST}


LIBRARIES = {
    "hdf5": hdf5, "netcdf4": hdf5, "netcdf3": netcdf3, "netcdf3_64": netcdf3, "tiff_tiles": tiff,
    "tiff_strips": tiff, "tiff_big": tiff, "tiff_stack": tiff, "fits": fits, "zarr_2": zarrs,
    "zarr_3": zarrs, "zarr_shards": zarrs,
}  # fmt: skip


class LateError(BaseException):
    """It took too long."""


def _late(*_: object) -> None:
    raise LateError


def _answer(asked: Found) -> Found:
    import refexplorer as rx

    path = Path(asked["path"])
    try:
        if asked["library"]:
            return {"values": LIBRARIES[asked["form"]](path)}
        return opened(path)
    except rx.RefexplorerError as error:
        return {"refused": _checked(error)}
    except LateError:
        return {"late": traceback.format_exc().strip().splitlines()[-3:]}
    except MemoryError:
        return {"raised": "MemoryError"}
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        return {"raised": f"{type(error).__name__}: {error} ({place})"[:400]}


def main() -> None:
    """Answer questions until they end."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, _late)
    warnings.simplefilter("ignore")
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            found = _answer(json.loads(line))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        found["seconds"] = round(time.monotonic() - began, 2)
        answers.write(json.dumps(found) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
