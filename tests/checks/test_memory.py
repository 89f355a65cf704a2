"""The memory that verifying takes does not grow with files and references."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import refexplorer as rx

netcdf_file = pytest.importorskip("scipy.io").netcdf_file

_MB = 1_000_000


def written(folder: Path, files: int, chunks: int) -> rx.ReferenceSet:
    """Write files of one step each, and return their set: generated, so that it takes no memory."""
    with netcdf_file(folder / "0.nc", "w") as file:
        file.createDimension("time", 1)
        file.createDimension("x", chunks)
        file.createVariable("d", ">f4", ("time", "x"))[:] = 0
        file.createVariable("time", ">f8", ("time",))[:] = 0
    data = (folder / "0.nc").read_bytes()
    for number in range(1, files):
        (folder / f"{number}.nc").write_bytes(data[:-8] + np.array(number, ">f8").tobytes())
    array = {"zarr_format": 2, "compressor": None, "filters": None, "order": "C",
             "fill_value": None}  # fmt: skip
    of_d = {"shape": [files, chunks], "chunks": [1, 1], "dtype": ">f4"}
    of_time = {"shape": [files], "chunks": [1], "dtype": ">f8"}
    start = len(data) - 8 - 4 * chunks
    url, steps = f"{folder}/{{{{i}}}}.nc", {"i": {"stop": files}}
    return rx.open_references(
        {
            "version": 1,
            "refs": {
                ".zgroup": '{"zarr_format": 2}',
                "d/.zarray": json.dumps(array | of_d),
                "d/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": ["time", "x"]}),
                "time/.zarray": json.dumps(array | of_time),
                "time/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": ["time"]}),
            },
            "gen": [
                {"key": "d/{{i}}.{{j}}", "url": url, "offset": f"{{{{{start} + 4 * j}}}}",
                 "length": "4", "dimensions": steps | {"j": {"stop": chunks}}},
                {"key": "time/{{i}}", "url": url, "offset": str(len(data) - 8), "length": "8",
                 "dimensions": steps},
            ],
        }
    )  # fmt: skip


@contextmanager
def traced() -> Iterator[None]:
    """Trace what is allocated by Python and NumPy: by all threads, those of other tests, too."""
    gc.collect()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def kept(folder: Path, files: int) -> int:
    """Return how many bytes are free again when a verification and its set are let go of."""
    folder.mkdir()
    refs = written(folder, files, 1)
    with traced():
        found = refs.allowing(f"file://{folder}").verify()
        assert (found.good, found.coverage["files"]["read"]) == (True, files), str(found)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        del refs, found
        gc.collect()
        return before - tracemalloc.get_traced_memory()[0]


@pytest.fixture(scope="module", autouse=True)
def _imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import what is imported when it is needed, which is no part of what is measured."""
    folder = tmp_path_factory.mktemp("small")
    written(folder, 2, 1).allowing(f"file://{folder}").verify()


def test_references_are_sorted_in_bounded_memory(tmp_path: Path) -> None:
    """Those of all files at once took 140 bytes for each, beside Arrow's."""
    refs = written(tmp_path, 10, 4_000)
    refs.verify()  # loads what verifying needs
    with traced():
        found = refs.allowing(f"file://{tmp_path}").verify()
        peak = tracemalloc.get_traced_memory()[1]
    assert (found.good, found.counts.references) == (True, 40_010), str(found)
    assert peak < 14 * _MB


def test_little_is_kept_of_each_file(tmp_path: Path) -> None:
    few, many = kept(tmp_path / "few", 10), kept(tmp_path / "many", 60)
    assert few > 0, "of what is let go of something is seen"
    assert many - few < 50 * 100, (few, many)
