"""What verifying metadata costs beside opening the files with h5py, and how it grows with them.

``python -m tests.benchmarks.verify`` prints a line for each number of files, of 100 compressed
chunks each, on this machine; CPU time is that of this process and of the children that read files.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

FILES = (250, 1000, 4000)
_SHAPE, _CHUNKS = (10, 10, 10), (10, 1, 1)


def main() -> None:
    """Measure all sizes, each in a fresh interpreter."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.verify", description=__doc__)
    parser.add_argument("--files", type=int, nargs="*", default=FILES)
    parser.add_argument("--sets", type=Path, help="folder to keep the sets in")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        print(json.dumps(measured(chosen.one)))
        return
    print("| files | h5py CPU s | verify CPU s | factor | MB here |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for count in chosen.files:
            folder = made((chosen.sets or Path(scratch)) / str(count), count)
            command = [sys.executable, "-m", "tests.benchmarks.verify", "--one", str(folder)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            factor = found["verify"] / found["h5py"]
            print(
                f"| {count:,} | {found['h5py']:.2f} | {found['verify']:.2f} | {factor:.1f} | "
                f"{found['memory']:.0f} |",
                flush=True,
            )


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


def measured(folder: Path) -> dict[str, float]:
    """Return CPU seconds of both ways, and the memory of this process."""
    import resource

    import psutil

    import refexplorer as rx

    def spent() -> float:
        children = psutil.Process().children(recursive=True)
        there = sum(sum(child.cpu_times()[:2]) for child in children)
        return time.process_time() + float(there)

    started = spent()
    for path in sorted(folder.glob("*.nc")):
        with h5py.File(path) as file:
            for name in file:
                dict(file[name].attrs)
                if file[name].chunks:
                    file[name].id.chunk_iter(lambda chunk: None)
    opened = spent() - started
    refs = rx.open_references(str(folder / "set.json"))
    started = spent()
    found = refs.verify()
    took = spent() - started
    assert found.good, str(found)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {"h5py": opened, "verify": took, "memory": memory}


if __name__ == "__main__":
    main()
