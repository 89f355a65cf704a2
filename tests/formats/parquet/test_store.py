"""Parquet stores read as the specification says, whoever wrote them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from fsspec.implementations.reference import LazyReferenceMapper
from zarr.storage import FsspecStore

import refexplorer as rx
from tests.cases import Case, comparable, conformance
from tests.helpers.loops import without_loop
from tests.helpers.parquet import Write, _raw, write_store, write_with_pyarrow

CASES = [case for case in conformance() if case.fields["kind"] == "parquet"]


def write_with_fastparquet(path: Path, columns: Mapping[str, Any]) -> None:
    pandas = pytest.importorskip("pandas")
    fastparquet = pytest.importorskip("fastparquet")
    frame = pandas.DataFrame(
        {
            "path": pandas.Series(columns["path"], dtype="object"),
            "offset": columns["offset"],
            "size": columns["size"],
            "raw": pandas.Series(_raw(columns["raw"]), dtype="object"),
        }
    )
    if columns.get("path_categorical"):
        frame["path"] = frame["path"].astype("category")
    encoding = {"raw": "bytes", "path": "utf8"}
    fastparquet.write(
        str(path), frame, object_encoding=encoding, has_nulls=["path", "raw"], stats=False
    )


@pytest.mark.parametrize("write", [write_with_pyarrow, write_with_fastparquet])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_store_reads_as_the_v0_of_the_case(case: Case, write: Write, tmp_path: Path) -> None:
    folder = write_store(tmp_path, case.fields["parquet"], write)
    if case.refused:
        with pytest.raises(rx.errors.SpecError) as refusal:
            rx.open_references(folder)
        assert (refusal.value.code, refusal.value.pointer) == (
            case.expect["error"],
            case.expect["at"],
        )
        return
    refs = rx.open_references(folder)
    assert comparable(refs.to_v0()) == case.v0
    assert comparable({key: refs[key].to_v0() for key in refs}) == case.v0
    found = {(diagnostic.code, diagnostic.pointer) for diagnostic in refs.diagnostics}
    if "error" in case.expect:
        assert (case.expect["error"], case.expect["at"]) in found
    if "diagnostic" in case.expect:
        assert case.expect["diagnostic"] in {code for code, _ in found}


ARRAY = {
    "zarr_format": 2,
    "shape": [4],
    "chunks": [1],
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
    "order": "C",
    "fill_value": 0,
}
STORE = {"zmetadata": {"metadata": {"x/.zarray": ARRAY}, "record_size": 4}}


def test_a_record_file_of_too_many_rows_is_not_read(tmp_path: Path) -> None:
    folder = write_store(tmp_path, STORE, write_with_pyarrow)
    (folder / "x").mkdir()
    rows = 1_000_000
    pq.write_table(
        pa.table(
            {
                "path": pa.nulls(rows, pa.string()),
                "offset": pa.repeat(0, rows),
                "size": pa.repeat(0, rows),
                "raw": pa.nulls(rows, pa.binary()),
            }
        ),
        folder / "x" / "refs.0.parq",
    )
    refs = rx.open_references(folder)
    assert len(refs) == 1
    (found,) = (d for d in refs.diagnostics if d.severity == "error" and d.code != "no-root")
    assert (found.code, found.pointer) == ("parquet-too-many-rows", "x/refs.0.parq")


def test_a_path_that_leaves_the_store_is_refused(tmp_path: Path) -> None:
    store = {"zmetadata": {"metadata": {"../../x/.zarray": ARRAY, "a": "b"}, "record_size": 4}}
    refs = rx.open_references(write_store(tmp_path, store, write_with_pyarrow))
    assert list(refs) == ["a"]
    assert refs.diagnostics[0].code == "parquet-unsafe-path"


def test_an_array_with_metadata_of_both_versions_is_one_array(tmp_path: Path) -> None:
    version_3 = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [2],
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "fill_value": 0,
    }
    metadata = {"x/zarr.json": version_3, "x/.zarray": ARRAY}
    columns = {"path": ["f"] * 4, "offset": range(4), "size": [4] * 4, "raw": [None] * 4}
    store = {
        "zmetadata": {"metadata": metadata, "record_size": 4},
        "files": {"x/refs.0.parq": columns},
    }
    refs = rx.open_references(write_store(tmp_path, store, write_with_pyarrow))
    assert sorted(refs) == ["x/.zarray", "x/0", "x/1", "x/2", "x/3", "x/zarr.json"]
    assert refs.arrays() == ("x",)
    assert refs.summary().keys == 6


def _errors(refs: rx.ReferenceSet) -> list[rx.types.Finding]:
    """Return the errors besides that of a store without a root group, as most here are."""
    return [d for d in refs.diagnostics if d.severity == "error" and d.code != "no-root"]


def write_one_row(folder: Path, **columns: Any) -> Path:
    """Write a store with a single row, some of whose columns are others."""
    array = {**ARRAY, "shape": [1]}
    store = {"zmetadata": {"metadata": {"x/.zarray": array}, "record_size": 1}}
    (folder / "x").mkdir()
    row = {"path": ["http://h/f"], "offset": [0], "size": [4], "raw": pa.nulls(1, pa.binary())}
    given = {name: column for name, column in (row | columns).items() if column is not None}
    table = pa.table(given)
    pq.write_table(table, folder / "x" / "refs.0.parq", compression="zstd")
    return write_store(folder, store, write_with_pyarrow)


@pytest.mark.parametrize("column", ["path", "raw"])
def test_a_page_that_unpacks_to_too_much_is_not_unpacked(column: str, tmp_path: Path) -> None:
    folder = write_one_row(tmp_path, **{column: pa.array([b"a" * 10**6], pa.binary())})
    refs = rx.open_references(folder, limits=rx.Limits(fetch_bytes=10**5))
    assert list(refs) == ["x/.zarray"]
    assert len(refs) == 1
    (found,) = (d for d in refs.diagnostics if d.severity == "error" and d.code != "no-root")
    assert (found.code, found.pointer) == ("parquet-too-large", "x/refs.0.parq")
    assert f"`{column}`" in found.message
    assert "x/0" in rx.open_references(folder)


def _varint(number: int) -> bytes:
    """Write a whole number as the footer has it."""
    rest = number << 1
    found = b""
    while rest > 127:
        found += bytes([rest & 127 | 128])
        rest >>= 7
    return found + bytes([rest])


@pytest.mark.parametrize("codec", ["zstd", "gzip", "brotli", "snappy"])
@pytest.mark.parametrize("column", ["path", "raw"])
def test_a_footer_that_hides_how_much_a_page_unpacks_to_is_not_believed(
    column: str, codec: str, tmp_path: Path
) -> None:
    folder = write_one_row(tmp_path, **{column: pa.array([b"a" * 10**6], pa.binary())})
    path = folder / "x" / "refs.0.parq"
    pq.write_table(pq.read_table(path), path, compression=codec)
    group = pq.read_metadata(path).row_group(0)
    (size,) = (
        chunk.total_uncompressed_size
        for chunk in map(group.column, range(4))
        if chunk.path_in_schema == column
    )
    data, end = path.read_bytes(), len(path.read_bytes()) - 8
    start = end - int.from_bytes(data[end : end + 4], "little")
    footer = data[start:end].replace(_varint(size), _varint(100))
    path.write_bytes(data[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    refs = rx.open_references(folder, limits=rx.Limits(fetch_bytes=10**5))
    (found,) = (d for d in refs.diagnostics if d.severity == "error" and d.code != "no-root")
    assert found.code == "parquet-too-large"
    assert "takes 1,000,000 bytes" not in found.message  # nor was it found out by unpacking it
    assert "x/0" in rx.open_references(folder)


def test_equal_data_is_held_once(tmp_path: Path) -> None:
    rows, raw = 2000, pa.array([b"a" * 100_000], pa.binary())
    folder = write_store(tmp_path, STORE, write_with_pyarrow)
    (folder / ".zmetadata").write_text(
        json.dumps({"metadata": {"x/.zarray": {**ARRAY, "shape": [rows]}}, "record_size": rows})
    )
    (folder / "x").mkdir()
    table = {
        "path": pa.nulls(rows, pa.string()),
        "offset": [0] * rows,
        "size": [0] * rows,
        "raw": pa.DictionaryArray.from_arrays(pa.array([0] * rows), raw),
    }
    pq.write_table(pa.table(table), folder / "x" / "refs.0.parq")
    refs = rx.open_references(folder)
    texts = {id(refs[f"x/{number}"].to_v0()) for number in range(rows)}
    assert len(texts) == 1
    assert refs["x/7"].size == 100_000


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    folder = write_store(tmp_path, STORE, write_with_pyarrow)
    (folder / "x").mkdir()
    pq.write_table(pa.table({"path": ["a"], "offset": [0]}), folder / "x" / "refs.0.parq")
    (found,) = (
        d
        for d in rx.open_references(folder).diagnostics
        if d.severity == "error" and d.code != "no-root"
    )
    assert found.code == "parquet-bad-columns"
    assert "'size' and 'raw'" in found.message


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"path": None}, "lacks the column 'path'"),
        ({"path": None, "Path": ["http://h/f"]}, "lacks the column 'path'"),
        ({"path": [{"a": "http://h/f"}]}, "lacks the column 'path'"),
        ({"path": [5]}, "has the type int64 in the column 'path', not text"),
        (
            {"offset": pa.array([5], pa.timestamp("ms"))},
            "has the type timestamp[ms] in the column 'offset'",
        ),
        ({"size": [True]}, "has the type bool in the column 'size', not numbers"),
        ({"size": ["4"]}, "has the type string in the column 'size', not numbers"),
    ],
)
def test_columns_of_another_shape_are_named(
    columns: dict[str, Any], said: str, tmp_path: Path
) -> None:
    refs = rx.open_references(write_one_row(tmp_path, **columns))
    assert len(refs) == len(refs.to_v0()) == 1
    (found,) = (d for d in refs.diagnostics if d.severity == "error" and d.code != "no-root")
    assert (found.code, found.pointer) == ("parquet-bad-columns", "x/refs.0.parq")
    assert said in found.message


def test_a_column_that_stands_twice_is_named(tmp_path: Path) -> None:
    folder = write_one_row(tmp_path)
    table = pq.read_table(folder / "x" / "refs.0.parq")
    twice = table.append_column("path", pa.array(["http://h/g"]))
    pq.write_table(twice, folder / "x" / "refs.0.parq")
    (found,) = (
        d
        for d in rx.open_references(folder).diagnostics
        if d.severity == "error" and d.code != "no-root"
    )
    assert found.code == "parquet-bad-columns"
    assert "'path' more than once" in found.message


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize(
    ("columns", "code", "shown"),
    [
        ({"offset": [1.5]}, "bad-offset", "1.5"),
        ({"size": [4.9]}, "bad-length", "4.9"),
        ({"offset": [float("nan")]}, "bad-offset", "nan"),
        ({"offset": [-5]}, "bad-offset", "-5"),
        ({"size": [float("inf")]}, "bad-length", "inf"),
        ({"offset": pa.array([2**63 + 5], pa.uint64())}, "bad-offset", str(2**63 + 5)),
    ],
)
def test_what_is_no_number_of_bytes_is_shown_and_no_key(
    columns: dict[str, Any], code: str, shown: str, statistics: bool, tmp_path: Path
) -> None:
    folder = write_one_row(tmp_path, **columns)
    path = folder / "x" / "refs.0.parq"
    pq.write_table(pq.read_table(path), path, write_statistics=statistics)
    refs = rx.open_references(folder)
    assert len(refs) == 1
    assert list(refs.find("*")) == list(refs) == list(refs.to_v0()) == ["x/.zarray"]
    assert "x/0" not in refs
    (found,) = (d for d in refs.diagnostics if d.severity == "error" and d.code != "no-root")
    assert (found.code, found.pointer) == (code, "x/refs.0.parq")
    assert f"row 0 of `x/refs.0.parq` is {shown}, not" in found.message


def test_whole_floats_are_read_and_noted_once(tmp_path: Path) -> None:
    refs = rx.open_references(write_one_row(tmp_path, offset=[10.0], size=[4.0]))
    assert refs["x/0"] == rx.types.Range("http://h/f", 10, 4)
    (found,) = (one for one in refs.diagnostics if one.code == "float-offset")
    assert (found.code, found.count) == ("float-offset", 1)


def test_inline_data_needs_no_numbers(tmp_path: Path) -> None:
    nothing = [float("nan")]
    raw = pa.array([b"abcd"], pa.binary())
    refs = rx.open_references(
        write_one_row(tmp_path, path=[None], raw=raw, offset=nothing, size=nothing)
    )
    assert refs["x/0"] == rx.types.Inline("abcd")
    assert {one.code for one in refs.diagnostics} == {"no-root", "no-dimension-names"}


def test_a_place_in_the_metadata_is_a_json_pointer(tmp_path: Path) -> None:
    metadata = {"x/.zattrs": "no object", "x/.zarray": {**ARRAY, "chunks": [0]}, "a/~b": 5}
    store = {"zmetadata": {"metadata": metadata, "record_size": 4}}
    refs = rx.open_references(write_store(tmp_path, store, write_with_pyarrow))
    found = {diagnostic.pointer for diagnostic in refs.diagnostics}
    assert found == {f".zmetadata/{at}" for at in ("x~1.zattrs", "x~1.zarray", "a~1~0b")}


RANGES = {
    "path": pa.array(["http://h/e", "http://h/f", "http://h/g", "http://h/h"]),
    "offset": pa.array([0, 0, 8, 7], pa.int64()),
    "size": pa.array([4, 0, 4, 9], pa.int64()),
}
RAW = {"raw": pa.array([b"abcd", None, b"\xff\x00\x01\x02", b""], pa.binary())}


@pytest.mark.filterwarnings("ignore:The 'fastparquet' engine")
@pytest.mark.parametrize("columns", [RANGES, RAW, RANGES | {"raw": pa.nulls(4)}])
def test_columns_that_fsspec_takes_for_null_may_be_left_out(
    tmp_path: Path, columns: dict[str, Any]
) -> None:
    folder = write_store(tmp_path, STORE, write_with_pyarrow)
    (folder / "x").mkdir()
    pq.write_table(pa.table(columns), folder / "x/refs.0.parq")
    theirs = LazyReferenceMapper(str(folder), fs=fsspec.filesystem("file"), engine="pyarrow")
    refs = rx.open_references(folder)
    assert refs.error_count == 0
    assert len(refs) == len(list(refs)) == (4 if columns is RAW else 5)
    for number in range(4):
        key, expected = f"x/{number}", None
        with contextlib.suppress(KeyError):
            expected = theirs[key]
        ours = refs.get(key)
        if isinstance(ours, rx.types.Inline | rx.types.Base64):
            assert ours.data == expected
        else:
            assert (None if ours is None else ours.to_v0()) == expected


@pytest.mark.parametrize(
    ("names", "said"),
    [(["raw"], "`path` and `offset` and `size`"), (["size", "path", "offset"], "`raw`")],
)
def test_that_gdal_asks_for_all_columns_is_noted(
    tmp_path: Path, names: list[str], said: str
) -> None:
    folder = write_store(tmp_path, STORE, write_with_pyarrow)
    (folder / "x").mkdir()
    pq.write_table(
        pa.table({name: (RANGES | RAW)[name] for name in names}), folder / "x/refs.0.parq"
    )
    (found,) = (
        one for one in rx.open_references(folder).diagnostics if one.code == "readers-differ"
    )
    assert found.pointer == "x/refs.0.parq"
    assert f"without {said}; fsspec does" in found.message


OFTEN: dict[str, Any] = {
    "path": ["f", "f", "f", "f"],
    "offset": [0, 4, 8, 12],
    "size": [4, 4, 4, 4],
}
OFTEN |= {"raw": pa.nulls(4, pa.binary())}
GROUP = {".zgroup": {"zarr_format": 2}}


@pytest.mark.filterwarnings("ignore:The 'fastparquet' engine")
@pytest.mark.parametrize(
    ("changed", "metadata", "said"),
    [
        ({}, {}, None),
        ({"path": [b"f"] * 4}, {}, "bytes in `path`"),
        ({"raw": pa.nulls(4)}, {}, "the type null in `raw`"),
        ({"offset": [0, None, 8, 12]}, {}, "null in `offset` or `size`"),
        ({"path": ["f", "f", "f", None], "size": [4, 4, 4, None]}, {}, "null in `offset`"),
        ({}, {"x/.zarray": json.dumps(ARRAY)}, "metadata as text"),
        ({}, {"note": {}}, "a key that is no metadata"),
        ({}, {"x/.zmetadata": {}}, "a key that is no metadata"),
    ],
    ids=["good", "bytes", "null type", "null", "nulls", "text", "other key", "copies"],
)
def test_what_stops_zarr_over_fsspec_is_noted(
    tmp_path: Path, changed: dict[str, Any], metadata: dict[str, Any], said: str | None
) -> None:
    (tmp_path / "f").write_bytes(np.arange(4, dtype="<i4").tobytes())
    content = GROUP | {"x/.zarray": ARRAY} | metadata
    zmetadata = {"metadata": content, "record_size": 2}
    folder = write_store(tmp_path, {"zmetadata": zmetadata}, write_with_pyarrow)
    columns = OFTEN | changed
    columns["path"] = [None if one is None else f"{tmp_path}/" + one if isinstance(one, str) else
                       f"{tmp_path}/".encode() + one for one in columns["path"]]  # fmt: skip
    (folder / "x").mkdir()
    for page in range(2):
        rows = {name: each[2 * page :][:2] for name, each in columns.items()}
        pq.write_table(pa.table(rows), folder / f"x/refs.{page}.parq")
    refs = rx.open_references(folder)
    theirs: Any = fsspec.filesystem(
        "reference",
        fo=str(folder),
        remote_protocol="file",
        asynchronous=True,
        skip_instance_cache=True,
    )
    try:
        group = without_loop(lambda: zarr.open_group(FsspecStore(theirs, read_only=True), mode="r"))
        found: Any = without_loop(lambda: group["x"][...])  # type: ignore[index]
    except Exception:  # they raise what they like
        (note,) = (one for one in refs.diagnostics if one.code == "readers-differ")
        assert said is not None
        assert said in note.message
    else:
        assert said is None
        assert found.tolist() == refs.read("x").values.tolist()


@pytest.mark.filterwarnings("ignore:The 'fastparquet' engine")
def test_a_store_of_a_set_with_consolidated_metadata_opens_with_fsspec(tmp_path: Path) -> None:
    content = GROUP | {"x/.zarray": ARRAY}
    chunks = {f"x/{at}": "abcd" for at in range(4)}
    refs = rx.open_references(content | chunks | {".zmetadata": {"metadata": content}})
    with pytest.warns(rx.errors.LeftOutWarning, match="`.zmetadata` is left out"):
        assert refs.convert(tmp_path / "set.parq") == len(refs) - 1
    theirs: Any = fsspec.filesystem(
        "reference", fo=str(tmp_path / "set.parq"), remote_protocol="file", asynchronous=True
    )
    group = without_loop(lambda: zarr.open_group(FsspecStore(theirs, read_only=True), mode="r"))
    assert list(group.array_keys()) == ["x"]


@pytest.mark.parametrize("names", [["offset", "size"], ["path", "raw"], ["path"], ["offset"]])
def test_other_columns_may_not(tmp_path: Path, names: list[str]) -> None:
    folder = write_store(tmp_path, STORE, write_with_pyarrow)
    (folder / "x").mkdir()
    columns = {name: (RANGES | RAW)[name] for name in names}
    pq.write_table(pa.table(columns), folder / "x/refs.0.parq")
    (found,) = (one for one in rx.open_references(folder).diagnostics if one.severity == "error")
    assert found.code == "parquet-bad-columns"


INCOMPLETE: list[tuple[str, dict[str, Any]]] = [
    ("x/zarr.json", {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32"}),
    ("x/.zarray", {"zarr_format": 2, "shape": [4], "dtype": "<i4"}),
]


@pytest.mark.parametrize(("key", "metadata"), INCOMPLETE)
def test_an_array_without_a_grid_is_an_error_at_its_place(
    tmp_path: Path, key: str, metadata: dict[str, Any]
) -> None:
    group = {"zarr.json": {"zarr_format": 3, "node_type": "group"}}
    store = {"zmetadata": {"metadata": {**group, key: metadata}, "record_size": 4}}
    folder = write_store(tmp_path, store, write_with_pyarrow)
    (folder / "x").mkdir()
    pq.write_table(pa.table(RANGES), folder / "x/refs.0.parq")
    refs = rx.open_references(folder)
    assert refs.error_count == 1
    (found,) = (one for one in refs.diagnostics if one.code == "parquet-lost-array")
    place = f".zmetadata/{key.replace('/', '~1')}"
    assert (found.severity, found.pointer, found.key) == ("error", place, key)
