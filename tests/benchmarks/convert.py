"""Sets written in another form, each checked against its source; peers only write.

The memory is what the work adds to that of an interpreter with its imports; opening is part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from tests.benchmarks.measuring import Case, Watch
from tests.benchmarks.peers import imported_fsspec

SMALL, MILLION = 10**5, 10**6


def to_json(watch: Watch, path: Path) -> object:
    """Open a set and write it as plain V0."""
    return _converted(watch, path, "set.json")


def to_gzip(watch: Watch, path: Path) -> object:
    """Write it as V0 in gzip."""
    return _converted(watch, path, "set.json.gz")


def to_parquet(watch: Watch, path: Path) -> object:
    """Write it as a parquet store."""
    return _converted(watch, path, "set.parq")


def kerchunk(watch: Watch, path: Path) -> object:
    """Write a store with kerchunk, which puts key by key into fsspec's `LazyReferenceMapper`."""
    from kerchunk.df import refs_to_dataframe

    def write(output: Path) -> None:
        refs_to_dataframe(str(path), str(output), record_size=100_000)

    return _written(watch, "set.parq", write)


def fsspec_json(watch: Watch, path: Path) -> object:
    """Read a store by fsspec and write its references as JSON.

    Its own `save_json` fails on the numbers that it reads from parquet, which are numpy's.
    """
    import ujson

    reference_filesystem = imported_fsspec()

    def write(output: Path) -> None:
        found = reference_filesystem(f"{path}/").references.items()
        texts = {key: v.decode() if isinstance(v, bytes) else v for key, v in found}
        output.write_text(ujson.dumps(texts, default=int))

    return _written(watch, "set.json", write)


def _converted(watch: Watch, path: Path, name: str) -> object:
    import fsspec.implementations.local  # noqa: F401  imports are not what is measured
    import pyarrow.parquet  # noqa: F401

    from refexplorer.verbs.converting import convert

    return _written(watch, name, lambda output: convert(path, output))


def _written(watch: Watch, name: str, write: Callable[[Path], Any]) -> object:
    """Write a set under the watch; return how many ranges it has, and of how many bytes."""
    from refexplorer import open_references
    from refexplorer.types import Kind

    with _scratch() as folder:
        with watch.running():
            write(folder / name)
        summary = open_references(folder / name).summary()
        return [summary.kinds[Kind.RANGE], summary.targets]


@contextmanager
def _scratch() -> Any:
    folder = Path(mkdtemp())
    try:
        yield folder
    finally:
        rmtree(folder)


WAYS = (
    ("V0 to V0", to_json, "v0"),
    ("V0 to V0 in gzip", to_gzip, "v0"),
    ("V0 to parquet", to_parquet, "v0"),
    ("parquet to V0", to_json, "parquet"),
    ("gen to parquet", to_parquet, "gen"),
    ("gen to V0", to_json, "gen"),
)
CASES = (
    Case("convert: V0 to parquet", "≥ 1 times", to_parquet, (kerchunk,), "v0", SMALL),
    Case("convert: V0 to parquet", "≥ 2 times", to_parquet, (kerchunk,), "v0", MILLION),
    Case("convert: parquet to V0", "≥ 2 times", to_json, (fsspec_json,), "parquet", MILLION),
    *(Case(f"convert: {way}", "≤ 6 s", ours, (), kind, MILLION) for way, ours, kind in WAYS),
)
LARGE = tuple(
    Case(f"convert: {way}", "≤ 60 s, ≤ 1 GB", ours, (), kind, 10 * MILLION)
    for way, ours, kind in WAYS
)
