"""Chunks inside a grid are counted by the column, and no name is taken for one that is none."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.refset.opened_set import internals

FOLDERS = ("", "a", "a/0", "1", "0.1", "é", "b+.c", "/".join("d" * 64), "/".join("d" * 70))
ODD = (
    "00.1", "01.1", "1.00", "٣.1", "-1.0", "+1.0", "1.0\n", "\n1.0", "99999999999999999999.0", "0.",
    ".0", "1..1", "1", "1.1.1", "1/1", "c.1.1", "1.1a", "0x1.1", "1,1", "1.1 ", ".zgroup", "0.1a",
    "11.1", "1.11",
)  # fmt: skip
NAMES = st.one_of(
    st.sampled_from(ODD),
    st.builds("{}.{}".format, st.integers(0, 12), st.integers(0, 4)),
    st.builds("c/{}/{}".format, st.integers(0, 12), st.integers(0, 4)),
)
KEYS = st.tuples(st.sampled_from(FOLDERS), NAMES)


def _metadata(grid: list[int], v3: bool) -> dict[str, Any]:
    if not v3:
        return {"zarr_format": 2, "shape": grid, "chunks": [1, 1], "dtype": "<i4"}
    return {
        "zarr_format": 3, "node_type": "array", "shape": grid, "data_type": "int8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1]}},
    }  # fmt: skip


@given(
    keys=st.lists(KEYS, max_size=60),
    grid=st.lists(st.integers(0, 11), min_size=2, max_size=2),
    v3=st.sampled_from(FOLDERS),
)
@example(keys=[("1", "1.1"), ("1", "1.10"), ("1", "0.1")], grid=[2, 11], v3="")
@example(keys=[("a", "0.0a/0.1"), ("a", "0.1"), ("a", "0.0")], grid=[2, 2], v3="")
def test_the_count_is_that_of_each_key_alone(
    keys: list[tuple[str, str]], grid: list[int], v3: str
) -> None:
    v0: dict[str, Any] = {_path(*key): ["s3://b/f", 0, 1] for key in keys}
    for folder in FOLDERS:
        name = "zarr.json" if folder == v3 else ".zarray"
        v0[_path(folder, name)] = _metadata(grid, folder == v3)
    refs = rx.open_references(v0)
    missing = 0
    for path in internals(refs).opened.arrays.paths:
        array = internals(refs).opened.arrays.get(path)
        assert array is not None
        inside = [key for key in v0 if array.contains(array.chunk_index(key) or ())]
        assert internals(refs).opened.arrays.present(array) == len(inside)
        missing += array.chunk_count - len(inside)
    assert rx.open_references(v0).summary().missing == missing


def test_one_odd_key_among_thousands_is_not_counted() -> None:
    v0: dict[str, Any] = {"a/.zarray": _metadata([5000, 2], v3=False)}
    v0 |= {f"a/{row}.{column}": ["f", row, 1] for row in range(5000) for column in range(2)}
    del v0["a/2500.1"], v0["a/4000.0"]
    v0["a/2500.01"] = v0["a/5000.0"] = v0["a/10.0a/11.0"] = ["f", 0, 1]
    refs = rx.open_references(v0)
    assert refs.summary().missing == 2


def _path(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def test_a_key_of_more_digits_than_python_reads_names_no_chunk() -> None:
    long, array = "x/" + "1" * 5000, {"zarr_format": 2, "shape": [4], "chunks": [1], "dtype": "<i4"}
    array |= {"compressor": None, "filters": None, "order": "C", "fill_value": 0}
    refs = rx.open_references({"x/.zarray": json.dumps(array), long: "text", "x/9": "text"})
    assert list(refs.to_v0()) == ["x/.zarray", long, "x/9"]
    assert [d.key for d in refs.diagnostics if d.code == "chunk-outside-grid"] == ["x/9"]
