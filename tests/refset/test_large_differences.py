"""Two parquet stores are compared by record file: only what differs is held."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refexplorer as rx

ROWS, FILES = 100_000, 40
MEGABYTES = 400
"""Holding all keys of both takes more than a gigabyte."""
COMPARING = """
import json, re, sys
import refexplorer
counts = refexplorer.diff(*sys.argv[1:]).counts
# what getrusage says includes the process that started this one
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())
print(json.dumps([counts, int(peak[1]) // 1024]))
"""


def store(path: Path, rows: int, files: int) -> Path:
    """Write a store whose record files are one file under many names."""
    (path / "v").mkdir(parents=True)
    array = {
        "zarr_format": 2, "shape": [rows * files], "chunks": [1], "dtype": "<i2",
        "compressor": None, "filters": None, "fill_value": 0, "order": "C",
    }  # fmt: skip
    metadata = {".zgroup": {"zarr_format": 2}, "v/.zarray": array}
    (path / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": rows}))
    written(path / "v" / "refs.0.parq", rows, 0)
    for number in range(1, files):
        os.link(path / "v" / "refs.0.parq", path / "v" / f"refs.{number}.parq")
    return path


def written(path: Path, rows: int, by: int) -> None:
    """Write a record file whose ranges begin later by some bytes."""
    urls = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(rows, dtype=np.int32) % 2), pa.array(["s3://b/0.nc", "s3://b/1.nc"])
    )
    offsets, sizes = pa.array(np.arange(rows) * 10 + by), pa.array(np.full(rows, 10))
    columns = {"path": urls, "offset": offsets, "size": sizes, "raw": pa.nulls(rows, pa.binary())}
    path.unlink(missing_ok=True)
    pq.write_table(pa.table(columns), path)


def changed(before: Path, after: Path, rows: int) -> Path:
    shutil.copytree(before, after, copy_function=os.link)
    written(after / "v" / "refs.1.parq", rows, 5)
    (after / "v" / "refs.2.parq").unlink()
    return after


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_comparing_millions_of_keys_holds_those_that_differ(tmp_path: Path) -> None:
    before = store(tmp_path / "a.parq", ROWS, FILES)
    after = changed(before, tmp_path / "b.parq", ROWS)
    command = [sys.executable, "-W", "ignore", "-c", COMPARING, str(before), str(after)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    counts, peak = json.loads(ran.stdout)
    assert counts == {"same": ROWS * (FILES - 2) + 2, "removed": ROWS, "shifted": ROWS}
    assert peak < MEGABYTES


def test_what_differs_is_the_same_as_of_the_sets_in_json(tmp_path: Path) -> None:
    before = rx.open_references(store(tmp_path / "a.parq", 5, 4))
    after = rx.open_references(changed(tmp_path / "a.parq", tmp_path / "b.parq", 5))
    found = rx.diff(before, after)
    expected = rx.diff(before.to_v0(), after.to_v0())
    assert found.counts == expected.counts
    assert found.rows() == expected.rows()
    np.testing.assert_array_equal(found.grid("v"), expected.grid("v"))
    assert rx.diff(before, before).counts == {"same": 22}
