"""1000 ranges of 64 kB from a file and over HTTP, one after the other and all over the place."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.benchmarks.measuring import Case, Watch, checksum
from tests.benchmarks.peers import imported_fsspec
from tests.benchmarks.sets import CELLS, NAMES, WRITERS

LENGTH = 65_536
SPREAD = 16
"""The random ranges lie in a file of so many times their size."""
DATA = "data.bin"


def ranges_ours(watch: Watch, path: Path) -> object:
    """`ReferenceFileSystem.cat` of a file."""
    return _ours(watch, path, str(path / DATA))


def ranges_fsspec(watch: Watch, path: Path) -> object:
    """`ReferenceFileSystem.cat` of a file."""
    return _fsspec(watch, path, f"file://{path / DATA}", "file")


def ranges_obstore(watch: Watch, path: Path) -> object:
    """`obstore.get_ranges` of a file."""
    from obstore.store import LocalStore

    return _obstore(watch, path, LocalStore(str(path)))


def http_ours(watch: Watch, path: Path) -> object:
    """`ReferenceFileSystem.cat` over HTTP."""
    with serving(path) as url:
        return _ours(watch, path, f"{url}/{DATA}")


def http_fsspec(watch: Watch, path: Path) -> object:
    """`ReferenceFileSystem.cat` over HTTP."""
    with serving(path) as url:
        return _fsspec(watch, path, f"{url}/{DATA}", "http")


def http_obstore(watch: Watch, path: Path) -> object:
    """`obstore.get_ranges` over HTTP."""
    from obstore.store import HTTPStore

    with serving(path) as url:
        return _obstore(watch, path, HTTPStore.from_url(url, client_options={"allow_http": True}))


def _ours(watch: Watch, path: Path, url: str) -> object:
    from refexplorer import open_references

    offsets = _offsets(path)
    document = {f"x/{n}": [url, start, LENGTH] for n, start in enumerate(offsets)}
    view = open_references(document).allowing(url).filesystem()
    with watch.running():
        found = view.cat(list(document))
    return _summary(found.values())


def _fsspec(watch: Watch, path: Path, url: str, protocol: str) -> object:
    offsets = _offsets(path)
    document = {f"x/{n}": [url, start, LENGTH] for n, start in enumerate(offsets)}
    filesystem = imported_fsspec(protocol)(document)
    with watch.running():
        found = filesystem.cat(list(document))
    return _summary(found[key] for key in document)


def _obstore(watch: Watch, path: Path, store: object) -> object:
    import obstore

    offsets = _offsets(path)
    with watch.running():
        found = obstore.get_ranges(
            store,  # type: ignore[arg-type]
            DATA,
            starts=offsets,
            lengths=[LENGTH] * len(offsets),
        )
    return _summary(bytes(each) for each in found)


def _summary(found: Iterator[bytes]) -> object:
    parts = list(found)
    return [
        len(parts),
        sum(map(len, parts)),
        checksum(f"{n}{p[:16]!r}" for n, p in enumerate(parts)),
    ]


def _offsets(path: Path) -> list[int]:
    offsets: list[int] = json.loads((path / "offsets.json").read_text())
    return offsets


@contextmanager
def serving(folder: Path, latency: float = 0, connections: int = 100_000) -> Iterator[str]:
    """Serve a folder in a process of its own, whose time is not measured; `latency` is in ms."""
    command = [sys.executable, "-m", "tests.benchmarks.serving", str(folder), str(latency)]
    command.append(str(connections))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def _contiguous(path: Path, steps: int) -> None:
    count = steps * CELLS * len(NAMES)
    _write(path, np.arange(count) * LENGTH, count * LENGTH)


def _random(path: Path, steps: int) -> None:
    count = steps * CELLS * len(NAMES)
    size = SPREAD * count * LENGTH
    _write(path, np.random.default_rng(0).integers(0, size - LENGTH, count), size)


def _write(path: Path, offsets: np.ndarray, size: int) -> None:
    """Write a sparse file in which each range begins with its number."""
    path.mkdir()
    with (path / DATA).open("wb") as file:
        file.truncate(size)
        for number, offset in enumerate(offsets.tolist()):
            file.seek(offset)
            file.write(number.to_bytes(16))
    (path / "offsets.json").write_text(json.dumps(offsets.tolist()))


WRITERS |= {"ranges": _contiguous, "random-ranges": _random}
CASES = tuple(
    Case(f"fetch {words} ranges {where}", goal, ours, peers, kind, 1000)
    for where, ours, peers in (
        ("of a file", ranges_ours, (ranges_fsspec, ranges_obstore)),
        ("over HTTP", http_ours, (http_fsspec, http_obstore)),
    )
    for words, goal, kind in (
        ("contiguous", "≥ 1 times fsspec", "ranges"),
        ("random", "≥ 1.5 times fsspec", "random-ranges"),
    )
)
