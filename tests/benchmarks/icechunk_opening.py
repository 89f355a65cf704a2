"""What opening virtual references of Icechunk 2 costs beside its own iterator over them.

``python -m tests.benchmarks.icechunk_opening`` writes a repository and prints the ratio of CPU
times of pairs of fresh interpreters, its median and range; it takes a Python with icechunk 2. The
goal is at most twice the time of the iterator. The first opening in a process also imports what
it needs; that ratio is printed, too.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

KEYS = 10**6
_ROW = 1000
_FILES = 100
_BATCH = 2**16
_WAYS = ("iterator", "again", "first")


def main() -> None:
    """Measure the iterator and ours in turn, each in a fresh interpreter."""
    name = "python -m tests.benchmarks.icechunk_opening"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("--keys", type=float, default=KEYS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        way, place = chosen.one
        print(json.dumps(measured(way, Path(place))))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = made(Path(scratch) / "repo", int(chosen.keys))
        found: dict[str, list[float]] = {way: [] for way in _WAYS}
        for _ in range(chosen.runs):
            counts = set()
            for way in _WAYS:
                command = [sys.executable, "-m", "tests.benchmarks.icechunk_opening"]
                command += ["--one", way, str(folder)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                count, seconds = json.loads(done.stdout)
                counts.add(count)
                found[way].append(seconds)
            assert len(counts) == 1, counts  # each saw as many references
    print("| references | work | CPU s: median, range | ratio: median, range |\n|---|---|---|---|")
    for way, words in zip(_WAYS, ("Icechunk's iterator", "open", "first opening"), strict=True):
        ratios = [ours / theirs for ours, theirs in zip(found[way], found["iterator"], strict=True)]
        said = "" if way == "iterator" else _said(ratios)
        print(f"| {int(chosen.keys):,} | {words} | {_said(found[way])} | {said} |")


def _said(numbers: list[float]) -> str:
    return f"{statistics.median(numbers):.2f}, {min(numbers):.2f} to {max(numbers):.2f}"


def measured(way: str, folder: Path) -> tuple[int, float]:
    """Return how many references one way finds, and its CPU seconds."""
    if way == "iterator":
        return asyncio.run(_iterated(folder))
    from refexplorer import open_references
    from refexplorer.types import Kind

    if way == "again":
        open_references(made(folder.with_name("small"), _ROW))
    started = time.process_time()
    refs = open_references(folder)
    seconds = time.process_time() - started
    return refs.summary().kinds[Kind.RANGE], seconds


async def _iterated(folder: Path) -> tuple[int, float]:
    import icechunk

    started, count = time.process_time(), 0
    opened: Any = icechunk.Repository.open(icechunk.local_filesystem_storage(str(folder)))
    store = opened.readonly_session("main").store
    async for batch in store.array_chunk_iterator("/x", _BATCH):
        count += len(batch[0])
    return count, time.process_time() - started


def made(folder: Path, count: int) -> Path:
    """Return a repository of so many virtual chunks of an array; written when first asked for."""
    if folder.exists():
        return folder
    import icechunk
    import zarr

    package: Any = icechunk
    config = package.RepositoryConfig.default()
    store = package.s3_store(region="us-east-1", anonymous=True)
    config.set_virtual_chunk_container(package.VirtualChunkContainer("s3://bucket/", store))
    storage = package.local_filesystem_storage(str(folder))
    session = package.Repository.create(storage, config).writable_session("main")
    rows = count // _ROW
    root = zarr.group(store=session.store)
    root.create_array("x", shape=(rows, _ROW), chunks=(1, 1), dtype="i4", compressors=None)
    for row in range(rows):
        specs = [
            package.VirtualChunkSpec(
                index=[row, column],
                location=f"s3://bucket/{row % _FILES:03}.nc",
                offset=4096 + 4 * (row * _ROW + column),
                length=4,
            )
            for column in range(_ROW)
        ]
        session.store.set_virtual_refs("x", specs)
    session.commit("made")
    return folder


if __name__ == "__main__":
    main()
