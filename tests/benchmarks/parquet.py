"""Parquet stores: what a question reads of 10 or 100 record files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.benchmarks.measuring import Case, Watch, checksum
from tests.benchmarks.peers import imported_fsspec

MILLION = 10**6
ARRAY = "t2m"


def summary_ours(watch: Watch, path: Path) -> object:
    """Open a store and count its kinds, bytes, targets and missing chunks."""
    refs = _opened(watch, path, lambda refs: refs.summary())
    return _compared((key, reference.to_v0()) for key, reference in refs.items())


def iterated_by_fsspec(watch: Watch, path: Path) -> object:
    """Go through all references, the only way to a summary there."""
    reference_filesystem = imported_fsspec()
    with watch.running():
        found = dict(reference_filesystem(f"{path}/").references.items())
    return _compared(found.items())


def counted_ours(watch: Watch, path: Path) -> object:
    """The same summary, told as what a scan of the columns can tell."""
    refs = _opened(watch, path, lambda refs: refs.summary())
    found = refs.summary()
    return [found.kinds["range"], found.bytes - _inline_bytes(refs), found.targets]


def scanned_by_pyarrow(watch: Watch, path: Path) -> object:
    """Read the columns of every record file and do nothing with them."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    names = sorted(path.glob("*/refs.*.parq"))
    with watch.running():
        tables = [pq.read_table(name) for name in names]
    rows = sum(len(table) - table["path"].null_count for table in tables)
    sizes = sum(pc.sum(table["size"]).as_py() for table in tables)
    return [rows, sizes, len({url for table in tables for url in _urls(table)})]


def first_page_ours(watch: Watch, path: Path) -> object:
    """Open a store and show the first chunks of an array with ten record files."""
    _opened(watch, path, lambda refs: refs.children(ARRAY, 0, 50))
    return None


def one_record_file(watch: Watch, path: Path) -> object:
    """Read one record file."""
    import pyarrow.parquet as pq

    with watch.running():
        pq.read_table(path / ARRAY / "refs.0.parq")
    return None


def _opened(watch: Watch, path: Path, ask: Any) -> Any:
    import fsspec.implementations.local  # noqa: F401  imports are not what is measured
    import pyarrow.parquet  # noqa: F401

    import refexplorer.refset.tree  # noqa: F401
    from refexplorer import open_references

    with watch.running():
        refs = open_references(path)
        ask(refs)
    return refs


def _compared(references: Iterable[tuple[str, Any]]) -> object:
    """Return the number of chunks and a checksum of their keys and references."""
    chunks = ((key, value) for key, value in references if "/." not in key and key[0] != ".")
    lines = [f"{key} {url} {offset} {size}" for key, (url, offset, size) in chunks]
    return [len(lines), checksum(lines)]


def _inline_bytes(refs: Any) -> int:
    return sum(refs[key].size for key in refs.find("", mode="substring", kind=["inline", "base64"]))


def _urls(table: Any) -> list[str]:
    return [url for url in table["path"].unique().to_pylist() if url is not None]


CASES = (
    Case(
        "parquet: open, summary",
        "≥ 40 times",
        summary_ours,
        (iterated_by_fsspec,),
        "parquet",
        MILLION,
    ),
)
LARGE = (
    Case(
        "parquet: open, first page of an array; peer: one record file",
        "≥ 0.2 times",
        first_page_ours,
        (one_record_file,),
        "parquet",
        10 * MILLION,
    ),
    Case(
        "parquet: open, summary; peer: a bare scan",
        "≥ 0.5 times",
        counted_ours,
        (scanned_by_pyarrow,),
        "parquet",
        10 * MILLION,
    ),
)
