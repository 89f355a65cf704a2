"""Sets of many NetCDF files, and measurements of one for each number of files."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

_SHAPE, _CHUNKS = (10, 10, 10), (10, 1, 1)


def each_measured(
    name: str,
    description: str | None,
    files: Sequence[int],
    measured: Callable[[Path], dict[str, float]],
) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield each number of files and what was measured of it, in a fresh interpreter.

    Parameters
    ----------
    name, description
        Of the benchmark, for its help and to start it again.
    files
        The numbers of files, unless the command line has others.
    measured
        Measures the set of a folder.
    """
    program = f"tests.benchmarks.{name}"
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("--files", type=int, nargs="*", default=files)
    parser.add_argument("--sets", type=Path, help="folder to keep the sets in")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        (chosen.one / "measured.json").write_text(json.dumps(measured(chosen.one)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        for count in chosen.files:
            folder = made((chosen.sets or Path(scratch)) / str(count), count)
            command = [sys.executable, "-m", program, "--one", str(folder)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            yield count, json.loads((folder / "measured.json").read_text())


def made(folder: Path, count: int) -> Path:
    """Return a folder with files and their set; written when first asked for."""
    source = folder / "set.json"
    if source.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    refs: dict[str, Any] = {}
    for number in range(count):
        path = folder / f"{number}.nc"
        with h5py.File(path, "w") as file:
            days = np.arange(10 * number, 10 * number + 10, dtype="i4")
            time_of = file.create_dataset("time", data=days)
            time_of.attrs["units"] = "days since 2000-01-01"
            time_of.make_scale("time")
            data = file.create_dataset("x", _SHAPE, "i2", np.zeros(_SHAPE), chunks=_CHUNKS,
                                       compression="gzip")  # fmt: skip
            data.dims[0].attach_scale(time_of)
            data.attrs["scale_factor"] = 0.1
            refs[f"time/{number}"] = [str(path), time_of.id.get_offset(), 40]
            for place in range(data.id.get_num_chunks()):
                chunk = data.id.get_chunk_info(place)
                _, row, column = chunk.chunk_offset
                refs[f"x/{number}.{row}.{column}"] = [str(path), chunk.byte_offset, chunk.size]
    array = {"zarr_format": 2, "compressor": None, "filters": None, "order": "C", "fill_value": 0}
    of_time = {"shape": [10 * count], "chunks": [10], "dtype": "<i4"}
    refs["time/.zarray"] = json.dumps(array | of_time)
    refs["time/.zattrs"] = json.dumps(
        {"_ARRAY_DIMENSIONS": ["time"], "units": "days since 2000-01-01"}
    )
    of_data = {"shape": [10 * count, 10, 10], "chunks": _CHUNKS, "dtype": "<i2"}
    refs["x/.zarray"] = json.dumps(array | of_data | {"filters": [{"id": "zlib", "level": 4}]})
    refs["x/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["time", "y", "x"], "scale_factor": 0.1})
    source.write_text(json.dumps(refs))
    return folder


def spent() -> float:
    """Return the CPU seconds of this process and of its children."""
    import psutil

    children = psutil.Process().children(recursive=True)
    there = sum(sum(child.cpu_times()[:2]) for child in children)
    return time.process_time() + float(there)


def memory() -> float:
    """Return the most megabytes that this process had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
