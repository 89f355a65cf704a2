"""What an audit costs for 10^6 chunks, and how that falls with workers.

``python -m tests.benchmarks.audit`` prints a line for each way; each is measured in a fresh
interpreter, on files of this machine. Workers are processes of a Dask cluster, 0 of them are
threads of the process itself.
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
from pathlib import Path
from typing import Any

import numpy as np

import refexplorer as rx

CHUNKS_A_TARGET = 1000
SIDE = 96
"""Elements along each of the two dimensions of a chunk, of two bytes each."""
WAYS = (
    ("none", 1_000_000, 0),
    ("none", 10_000_000, 0),
    ("none", 1_000_000, 1),
    ("none", 1_000_000, 2),
    ("none", 1_000_000, 4),
    ("all", 30_000, 1),
    ("all", 30_000, 2),
    ("all", 30_000, 4),
)
"""What is decoded, chunks of the set, workers."""
HEAD = (
    "| decoded | chunks | workers | CPU s / 10^6 | of it here | s / 10^6 | MB here | MB a worker |"
)


def made(folder: Path, chunks: int) -> Path:
    """Return a parquet set on targets that are links to one file; written when first asked for."""
    path = folder / f"audit-{chunks}.parq"
    targets = chunks // CHUNKS_A_TARGET
    if path.exists():
        return path
    values = np.random.default_rng(0).normal(0, 20, (SIDE, SIDE)).cumsum(1).astype("<i2")
    chunk = zlib.compress(values.tobytes(), 4)
    first = folder / "t" / "0.bin"
    first.parent.mkdir(exist_ok=True)
    first.write_bytes(chunk * CHUNKS_A_TARGET)
    for number in range(1, targets):
        link = first.with_name(f"{number}.bin")
        if not link.exists():
            os.link(first, link)
    array = {
        "zarr_format": 2, "shape": [chunks, SIDE, SIDE], "chunks": [1, SIDE, SIDE],
        "dtype": "<i2", "order": "C", "compressor": {"id": "zlib", "level": 4},
        "filters": None, "fill_value": 0,
    }  # fmt: skip
    item = {
        "key": f"x/{{{{t * {CHUNKS_A_TARGET} + c}}}}.0.0",
        "url": f"{folder}/t/{{{{t}}}}.bin",
        "offset": f"{{{{c * {len(chunk)}}}}}",
        "length": f"{len(chunk)}",
        "dimensions": {"t": {"stop": targets}, "c": {"stop": CHUNKS_A_TARGET}},
    }
    refs = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(array)}
    rx.open_references({"version": 1, "refs": refs, "gen": [item]}).to_parquet(path)
    return path


def measured(path: Path, decode: str, workers: int) -> dict[str, float]:
    """Audit a set, and return seconds and megabytes."""
    refs = rx.open_references(path)
    cores = len(os.sched_getaffinity(0))
    if not workers:
        return _audited(refs, decode, {"workers": cores})
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,  # type: ignore[no-untyped-call]
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        client.run(_used)
        before = client.run(_used)
        found = _audited(refs, decode, {"scheduler": client})
        after = client.run(_used)
        there = [after[name][0] - before[name][0] for name in after]
        most = max(memory for _, memory in after.values())
    found["cpu"] += sum(there)
    return found | {"busiest": max(there), "memory_there": most}


def _audited(refs: rx.ReferenceSet, decode: str, how: dict[str, Any]) -> dict[str, float]:
    folder = str(Path(refs.example_urls[0] or "").parent)
    begun, (before, _) = time.perf_counter(), _used()
    audit = refs.audit(decode=decode, allow=[folder], **how)
    elapsed, (after, memory) = time.perf_counter() - begun, _used()
    assert audit.good, str(audit)
    used = after - before
    found = {"cpu": used, "here": used, "elapsed": elapsed, "memory": memory}
    return found | {"busiest": 0, "memory_there": 0}


def _used() -> tuple[float, float]:
    """Return CPU seconds and the peak of memory in megabytes."""
    status = Path("/proc/self/status").read_text()
    return time.process_time(), int(status.partition("VmHWM:")[2].split()[0]) / 1e3


def _line(folder: Path, decode: str, chunks: int, workers: int) -> str:
    path = made(folder, chunks)
    command = [sys.executable, "-m", __spec__.name, "--one", str(path), decode, str(workers)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    scale = 1e6 / chunks
    cells = [decode, f"{chunks:,}", str(workers or "threads")]
    cells += [f"{found[name] * scale:.2g}" for name in ("cpu", "here", "busiest", "elapsed")]
    cells += [f"{found[name]:,.0f}" for name in ("memory", "memory_there")]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure every way."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("SET", "DECODE", "WORKERS"))
    parser.add_argument("--sets", type=Path, help="folder to keep the sets in")
    chosen = parser.parse_args()
    if chosen.one:
        path, decode, workers = chosen.one
        print(json.dumps(measured(Path(path), decode, int(workers))))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.sets or Path(scratch)
        print(f"{HEAD}\n{'|---' * 9}|", flush=True)
        for decode, chunks, workers in WAYS:
            print(_line(folder, decode, chunks, workers), flush=True)


if __name__ == "__main__":
    main()
