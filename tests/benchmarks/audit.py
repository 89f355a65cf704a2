"""What an audit costs for 10^6 chunks, how that grows with the set and the threads.

``python -m tests.benchmarks.audit`` prints a line for each way; each is measured in a fresh
interpreter, on files of this machine. ``--large`` measures sets of 10^8 chunks, which takes an
hour, a million inodes and 10 GB in the folder that ``--sets`` names.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import refexplorer as rx

ARRAYS = "abcd"
"""Each has a quarter of the chunks of every target, so that a set comes back to its targets."""
RECORD_SIZE = 100_000
FILES = 1000
"""Targets in a folder."""
SIDE = 96
"""Elements along each of the two dimensions of a chunk, of two bytes each."""


class Way(NamedTuple):
    """What is measured: chunks to decode, chunks and targets of the set, threads."""

    decode: str
    chunks: int
    targets: int
    workers: int  # 0: as many as there are cores


WAYS = (
    Way("none", 10**6, 1000, 0),
    Way("none", 10**7, 1000, 0),
    *(Way("none", 10**6, 1000, workers) for workers in (1, 2, 4)),
    *(Way("all", 30_000, 30, workers) for workers in (1, 2, 4)),
)
LARGE_WAYS = (*(Way("none", 10**8, targets, 0) for targets in (1, 10**5, 10**6)),)
MEASURES = {"cpu": "CPU s / 10^6", "elapsed": "s / 10^6", "memory": "MB"}


def made(folder: Path, way: Way) -> Path:
    """Return a parquet set and its targets; written when first asked for.

    Targets whose chunks are decoded are links to one file, the others have a size and no bytes.
    """
    path = folder / f"{way.decode}-{way.chunks}-{way.targets}.parq"
    if path.exists():
        return path
    values = np.random.default_rng(0).normal(0, 20, (SIDE, SIDE)).cumsum(1).astype("<i2")
    chunk = zlib.compress(values.tobytes(), 4)
    per_target = way.chunks // way.targets
    first = folder / "first.bin"
    first.write_bytes(b"" if way.decode == "none" else chunk * per_target)
    for number in range(way.targets):
        target = _target(path, number)
        if number % FILES == 0:
            target.parent.mkdir(parents=True)
        if way.decode == "none":
            target.touch()
            os.truncate(target, len(chunk) * per_target)
        else:
            os.link(first, target)
    partial = path.with_suffix(".partial")
    _write_set(path, partial, way, len(chunk))
    return partial.rename(path)


def _target(path: Path, number: int) -> Path:
    return path.with_suffix("") / str(number // FILES) / f"{number}.bin"


def _write_set(path: Path, partial: Path, way: Way, size: int) -> None:
    """Write record files as kerchunk does, some of each array."""
    of_array = way.chunks // len(ARRAYS)
    array = {
        "zarr_format": 2, "shape": [of_array, SIDE, SIDE], "chunks": [1, SIDE, SIDE],
        "dtype": "<i2", "order": "C", "compressor": {"id": "zlib", "level": 4},
        "filters": None, "fill_value": 0,
    }  # fmt: skip
    for place, name in enumerate(ARRAYS):
        (partial / name).mkdir(parents=True)
        for record, start in enumerate(range(0, of_array, RECORD_SIZE)):
            chunks = np.arange(start, min(start + RECORD_SIZE, of_array))
            rows = _rows(path, chunks, place, way, size)
            pq.write_table(rows, partial / name / f"refs.{record}.parq", compression="zstd")
    metadata = {".zgroup": {"zarr_format": 2}} | {f"{name}/.zarray": array for name in ARRAYS}
    document = {"metadata": metadata, "record_size": RECORD_SIZE}
    (partial / ".zmetadata").write_text(json.dumps(document))


def _rows(path: Path, chunks: np.ndarray, place: int, way: Way, size: int) -> pa.Table:
    """Return the references of some chunks of an array, which follow each other in a target."""
    run = way.chunks // way.targets // len(ARRAYS)
    targets, within = np.divmod(chunks, run)
    numbers, codes = np.unique(targets, return_inverse=True)
    urls = pa.array([str(_target(path, number)) for number in numbers.tolist()], pa.string())
    return pa.table(
        {
            "path": pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), urls),
            "offset": (place * run + within) * size,
            "size": np.full(len(chunks), size),
            "raw": pa.nulls(len(chunks), pa.binary()),
        }
    )


def measured(path: Path, decode: str, workers: int) -> dict[str, Any]:
    """Audit a set, and return seconds, megabytes and a digest of the results."""
    refs = rx.open_references(path)
    folder = str(Path(refs.source.name).with_suffix(""))
    threads = workers or len(os.sched_getaffinity(0))
    begun, (before, _) = time.perf_counter(), _used()
    audit = refs.allowing(folder).audit(decode=decode, workers=threads)
    elapsed, (after, memory) = time.perf_counter() - begun, _used()
    assert audit.good, str(audit)
    digest = blake2b(digest_size=4)
    for part in audit.tables():
        for batch in part.combine_chunks().to_batches():
            digest.update(batch.serialize())
    found = {"cpu": after - before, "elapsed": elapsed, "memory": memory}
    return found | {"digest": digest.hexdigest()}


def _used() -> tuple[float, float]:
    """Return CPU seconds and the peak of memory in megabytes."""
    status = Path("/proc/self/status").read_text()
    return time.process_time(), int(status.partition("VmHWM:")[2].split()[0]) / 1e3


def _line(folder: Path, way: Way) -> str:
    path = made(folder, way)
    command = [sys.executable, "-m", __spec__.name, "--one", str(path), way.decode]
    done = subprocess.run([*command, str(way.workers)], check=True, capture_output=True)
    found = json.loads(done.stdout.splitlines()[-1])
    cells = [way.decode, f"{way.chunks:,}", f"{way.targets:,}", str(way.workers or "cores")]
    for name in MEASURES:
        scale = 1 if name.startswith("memory") else 1e6 / way.chunks
        cells.append(f"{float(f'{found[name] * scale:.2g}'):,g}")
    return f"| {' | '.join([*cells, found['digest']])} |"


def main() -> None:
    """Measure every way."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("SET", "DECODE", "WORKERS"))
    parser.add_argument("--sets", type=Path, help="folder to keep the sets in")
    parser.add_argument("--large", action="store_true", help="sets of 10^8 chunks")
    chosen = parser.parse_args()
    if chosen.one:
        path, decode, workers = chosen.one
        print(json.dumps(measured(Path(path), decode, int(workers))))
        return
    names = ("decoded", "chunks", "targets", "threads", *MEASURES.values(), "results")
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.sets or Path(scratch)
        print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|", flush=True)
        for way in LARGE_WAYS if chosen.large else WAYS:
            print(_line(folder, way), flush=True)


if __name__ == "__main__":
    main()
