"""Each kind of mistake, made alone in a set that is in order, is named at its key and file."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refexplorer.checks.report import Report
from refexplorer.checks.states import CHUNK_TERMS
from refexplorer.spec.codes import Severity
from tests.helpers.kerchunk_sets import translated
from tests.helpers.verifying import (
    STEPS,
    Changed,
    codes,
    joined,
    joined_by_hand,
    verified,
    write_files,
    write_netcdf,
)

KEY = "foo/2.1.0"
"""The first time of the second file."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def document(files: list[Path]) -> dict[str, Any]:
    return joined(files)


@pytest.fixture(scope="module")
def held(files: list[Path]) -> dict[str, Any]:
    """A set with the coordinates inline."""
    return joined(files, 100)


def changed(document: dict[str, Any], change: Callable[[Changed], None]) -> dict[str, Any]:
    found = Changed(document)
    change(found)
    return found.document


def shift(by: int, at: int) -> Callable[[Changed], None]:
    def change(mine: Changed) -> None:
        mine.refs[KEY] = list(mine.refs[KEY])
        mine.refs[KEY][at] += by

    return change


def swap(one: str, other: str) -> Callable[[Changed], None]:
    def change(mine: Changed) -> None:
        mine.refs[one], mine.refs[other] = mine.refs[other], mine.refs[one]

    return change


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (shift(8, 1), "offset", "foo/2.1.0 starts 8 bytes inside chunk [0, 1, 0] of `foo`"),
        (shift(10**9, 1), "offset", "is in no chunk of the file"),
        (shift(-1, 2), "length", "foo/2.1.0 has "),
        (shift(1, 2), "length", "foo/2.1.0 has "),
        (
            swap(KEY, "foo/2.0.1"),
            "misplaced",
            "foo/2.1.0 is chunk [0, 0, 1] of `foo` in the file, which belongs at foo/2.0.1",
        ),
        (swap(KEY, "bar/1.0.0"), "other-array", "foo/2.1.0 is a chunk of `bar`, not of `foo`"),
        (lambda m: m.refs.pop(KEY), "no-reference", "(foo/2.1.0)"),
    ],
    ids=["offset", "far", "shorter", "longer", "swapped", "other array", "dropped"],
)
def test_one_reference(
    files: list[Path],
    document: dict[str, Any],
    change: Callable[[Changed], None],
    code: str,
    said: str,
) -> None:
    found = verified(changed(document, change), files[0].parent)
    (mine,) = [each for each in found.findings if each.code == code and each.array == "foo"]
    assert said in mine.message
    assert KEY in mine.keys
    assert [Path(url).name for url in mine.files] == ["o_0001.nc"]
    assert mine.message.startswith("`foo`: 1 of 3 files ")
    assert not found.good


def test_a_chunk_of_a_file_with_one_chunk_is_dropped(
    files: list[Path], document: dict[str, Any]
) -> None:
    found = verified(changed(document, lambda m: m.refs.pop("bar/1.0.0")), files[0].parent)
    (mine,) = found.findings
    assert (mine.code, mine.keys) == ("no-reference", ("bar/1.0.0",))
    assert [Path(url).name for url in mine.files] == ["o_0001.nc"]


def metadata(key: str, **changes: Any) -> Callable[[Changed], None]:
    return lambda mine: mine.metadata(key, **changes)


@pytest.mark.parametrize(
    ("change", "code", "key"),
    [
        (metadata("foo/.zarray", dtype="<i4"), "dtype", "foo/.zarray"),
        (metadata("foo/.zarray", dtype="<u2"), "dtype", "foo/.zarray"),
        (metadata("foo/.zarray", dtype=">i2"), "byte-order", "foo/.zarray"),
        (metadata("foo/.zarray", chunks=[3, 2, 16]), "chunk-shape", "foo/.zarray"),
        (metadata("foo/.zarray", shape=[21, 8, 16]), "shape", "foo/.zarray"),
        (metadata("foo/.zarray", shape=[15, 8, 16]), "shape", "foo/.zarray"),
        (metadata("foo/.zarray", filters=[{"id": "zlib", "level": 4}]), "filters", "foo/.zarray"),
        (metadata("foo/.zarray", filters=None), "filters", "foo/.zarray"),
        (metadata("foo/.zarray", fill_value=7), "fill_value", "foo/.zarray"),
        (metadata("foo/.zattrs", _FillValue=-1), "_FillValue", "foo/.zattrs"),
        (metadata("foo/.zattrs", missing_value=5), "missing_value", "foo/.zattrs"),
        (metadata("foo/.zattrs", scale_factor=0.2), "scale_factor", "foo/.zattrs"),
        (metadata("foo/.zattrs", scale_factor=...), "scale_factor", "foo/.zattrs"),
        (metadata("foo/.zattrs", add_offset=0), "add_offset", "foo/.zattrs"),
        (metadata("foo/.zattrs", units="degC"), "units", "foo/.zattrs"),
        (
            metadata("foo/.zattrs", _ARRAY_DIMENSIONS=["time", "lon", "lat"]),
            "dimensions",
            "foo/.zattrs",
        ),
    ],
)
def test_one_field(
    files: list[Path],
    document: dict[str, Any],
    change: Callable[[Changed], None],
    code: str,
    key: str,
) -> None:
    found = verified(changed(document, change), files[0].parent)
    (mine,) = [each for each in found.findings if each.code == code]
    assert mine.array == "foo"
    assert mine.key == key
    assert mine.pointer == "/refs/" + key.replace("/", "~1")
    assert mine.severity is Severity.ERROR
    assert mine.file_count == 3 or (code, mine.file_count) == ("shape", 1)
    assert ": ," not in mine.message
    assert not found.good


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"scale_factor": 0.2}, "scale_factor", "scale_factor 0.2, the set says 0.1"),
        ({"add_offset": 0.0}, "add_offset", "add_offset 0, the set says 273"),
        ({"units": "degC"}, "units", "units degC, the set says K"),
        ({"_FillValue": np.int16(-1)}, "_FillValue", "FillValue -1, the set says -999"),
        ({"dtype": "i4", "_FillValue": np.int32(-999)}, "dtype", "dtype <i4, the set says <i2"),
        ({"shuffle": False}, "filters", "filters zlib, the set says shuffle of 2 bytes, zlib"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_of_the_files_is_odd(
    tmp_path: Path, change: dict[str, Any], code: str, said: str
) -> None:
    """The set is as kerchunk joins such files: the first one decides."""
    files = write_files(tmp_path, {1: change})
    found = verified(_forced(files), tmp_path)
    (mine,) = [each for each in found.findings if each.code == code]
    assert (mine.array, mine.file_count) == ("foo", 1)
    assert [Path(url).name for url in mine.files] == ["o_0001.nc"]
    assert said in mine.message
    assert mine.message.startswith("`foo`: 1 of 3 files ")


def test_an_odd_file_of_an_array_that_the_set_holds(tmp_path: Path) -> None:
    files = write_files(tmp_path, {1: {"scale_factor": 0.2}})
    found = verified(joined(files, 200), tmp_path)
    assert codes(found) == {("scale_factor", "foo")}  # the stored values are the same
    for mine in found.findings:
        assert [Path(url).name for url in mine.files] == ["o_0001.nc"]


def _forced(files: list[Path]) -> dict[str, Any]:
    return joined_by_hand([translated(path)["refs"] for path in files])


def test_times_in_order_stay_so_where_other_arrays_are_exchanged(
    files: list[Path],
) -> None:
    """Two arrays have the chunks of another file; the coordinate has its own."""

    def change(mine: Changed) -> None:
        for key in [key for key in mine.refs if key.startswith(("foo/0", "foo/1"))]:
            row, rest = key.removeprefix("foo/").split(".", 1)
            swap(key, f"foo/{int(row) + 4}.{rest}")(mine)
        swap("bar/0.0.0", "bar/2.0.0")(mine)

    found = codes(verified(changed(_forced(files), change), files[0].parent))
    assert found == {("misplaced", "time")}


def test_values_are_compared(tmp_path: Path) -> None:
    files = write_files(tmp_path, {1: {"scale_factor": 0.2}})
    found = verified(_forced(files), tmp_path, values="all")
    (mine,) = [each for each in found.findings if each.code == "values"]
    assert [Path(url).name for url in mine.files] == ["o_0001.nc"]
    assert found.counts.values == 3 * (2 * 6 * 8 * 16 + 6) + 8 + 16
    assert found.counts.largest is not None
    assert 1 < found.counts.largest < 20
    assert "differ by up to" in mine.message


def test_values_that_the_set_reads_as_missing(files: list[Path]) -> None:
    """The fill value of Zarr v2, which xarray masks; here the file has one, too."""
    wrong = changed(_forced(files), metadata("time/.zarray", fill_value=3))
    found = verified(wrong, files[0].parent, values="all")
    assert codes(found) == {("fill_value", "time"), ("masked", "time")}
    assert (found.counts.false_nan, found.counts.largest) == (1, None)
    assert "1 value of the files reads as missing" in str(found)
    wrong = changed(_forced(files), metadata("bar/.zattrs", missing_value=_first_bar(files[0])))
    found = verified(wrong, files[0].parent, values="all")
    assert codes(found) == {("missing_value", "bar"), ("values", "bar")}
    assert found.counts.false_nan == 1


def _first_bar(path: Path) -> float:
    import h5py

    with h5py.File(path) as file:
        return float(file["bar"][0, 0, 0])


def inline(values: Any, kind: str) -> str:
    return "base64:" + base64.b64encode(np.asarray(values, kind).tobytes()).decode()


def times_of(held: dict[str, Any], change: Callable[[list[int]], None]) -> dict[str, Any]:
    """Return the set with other times."""
    kind = json.loads(held["refs"]["time/.zarray"])
    days = list(range(1, 1 + 3 * STEPS))
    change(days)
    mine = Changed(held)
    for key in [key for key in mine.refs if key.startswith("time/") and ".z" not in key]:
        del mine.refs[key]
    mine.metadata("time/.zarray", chunks=[len(days)], compressor=None, filters=None)
    mine.refs["time/0"] = inline(days, kind["dtype"])
    return mine.document


def test_a_time_is_altered(files: list[Path], held: dict[str, Any]) -> None:
    found = verified(times_of(held, lambda days: days.__setitem__(8, 90)), files[0].parent)
    (mine,) = [each for each in found.findings if each.code == "held-values"]
    assert (mine.array, mine.key) == ("time", "time/0")
    assert [Path(url).name for url in mine.files] == ["o_0001.nc"]
    assert ("axis-order", "time") in codes(found)


def test_a_coordinate_is_altered(files: list[Path], held: dict[str, Any]) -> None:
    lat = np.linspace(-70, 70, 8)
    lat[3] += 0.01
    wrong = changed(held, lambda m: m.refs.__setitem__("lat/0", inline(lat, "<f8")))
    found = verified(wrong, files[0].parent)
    (mine,) = found.findings
    assert (mine.code, mine.array, mine.file_count) == ("held-values", "lat", 3)
    assert "at [3] the set has -9.99, the file -10" in mine.message


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"units": "days since 2000-01-31"}, "units"),
        ({"units": "hours since 1999-12-31"}, "units"),
        ({"calendar": "noleap"}, "calendar"),
    ],
    ids=["epoch", "unit", "calendar"],
)
def test_attributes_of_times_that_the_set_holds(
    files: list[Path], held: dict[str, Any], changes: dict[str, str], code: str
) -> None:
    found = verified(changed(held, metadata("time/.zattrs", **changes)), files[0].parent)
    (mine,) = found.findings
    assert (mine.code, mine.array, mine.file_count) == (code, "time", 3)


@pytest.mark.parametrize("field", ["units", "calendar"])
def test_attributes_of_times_that_the_set_refers_to(tmp_path: Path, field: str) -> None:
    files = write_files(tmp_path)
    value = {"units": "days since 1999-12-30", "calendar": "360_day"}[field]
    found = verified(changed(_forced(files), metadata("time/.zattrs", **{field: value})), tmp_path)
    assert (field, "time") in codes(found)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (STEPS - 1, {"axis-duplicate"}),
        (STEPS + 2, {"axis-gap"}),
        (0, {"axis-order", "axis-duplicate"}),
    ],
)
def test_the_order_of_times(tmp_path: Path, start: int, expected: set[str]) -> None:
    """The set says what its files say; only what no selection by label survives is an error."""
    files = write_files(tmp_path, {1: {"start": start}})
    found = verified(_forced(files[:2]), tmp_path)
    assert codes(found) == {(code, "time") for code in expected}
    assert found.good is ("axis-duplicate" not in expected)
    for mine in found.findings:
        is_error = mine.code == "axis-duplicate"
        assert mine.severity is (Severity.ERROR if is_error else Severity.WARNING)
        assert {Path(url).name for url in mine.files} == {"o_0000.nc", "o_0001.nc"}


def test_another_grid_in_one_file(tmp_path: Path) -> None:
    """The set refers to the coordinate of the first file."""
    import h5py

    files = write_files(tmp_path)
    document = _forced(files)
    with h5py.File(files[2], "r+") as file:
        file["lat"][...] = file["lat"][...] + 0.5
    found = verified(document, tmp_path)
    (mine,) = found.findings
    assert (mine.code, mine.array) == ("same-variable", "lat")
    assert [Path(url).name for url in mine.files] == ["o_0002.nc"]


def test_what_is_not_compared_is_not_right(tmp_path: Path, files: list[Path]) -> None:
    raw = tmp_path / "raw.bin"
    raw.write_bytes(bytes(80))
    array = {
        "zarr_format": 2, "shape": [20], "chunks": [10], "dtype": "<i4", "compressor": None,
        "filters": None, "order": "C", "fill_value": 0,
    }  # fmt: skip
    refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(array)}
    refs |= {f"x/{n}": [str(raw), 40 * n, 40] for n in range(2)}
    found = verified(refs, tmp_path)
    assert (found.status, found.findings) == (2, ())
    assert found.headline.text == "not known: 1 file has a format that cannot be compared"
    assert "2 references of `x` (The format of the file" in found.summary[-1]
    mixed = Changed(joined(files))
    mixed.refs |= refs
    assert _states(verified(mixed.document, Path("/"))) == {
        "at the right position": 29,
        "inline (equal)": 1,
        "file not read": 2,
    }


def test_inline_chunks_of_a_file_that_the_set_does_not_name(files: list[Path]) -> None:
    """As kerchunk inlines small chunks; no file that is read has their values."""
    mine = Changed(joined(files))
    inlined = 0
    for key, value in mine.refs.items():
        if isinstance(value, list) and value[0].endswith(files[1].name):
            _, offset, length = value
            data = files[1].read_bytes()[offset : offset + length]
            mine.refs[key] = f"base64:{base64.b64encode(data).decode()}"
            inlined += 1
    found = verified(mine.document, Path("/"))
    assert found.status == 2
    assert _states(found)["inline (not compared)"] >= inlined > 1
    assert found.headline.text.startswith("not known: ")


def _states(found: Report) -> dict[str, int]:
    return {CHUNK_TERMS[state].name: n for state, n in found.ledger.all_counts().items()}


def test_files_that_are_missing_or_not_allowed(tmp_path: Path) -> None:
    path = write_netcdf(tmp_path / "a.nc", 0)
    document = translated(path)
    path.unlink()
    found = verified(document, tmp_path)
    assert (found.good, _states(found)) == (False, {"unreachable": 12})
    assert "a.nc" in str(found)
    (tmp_path / "elsewhere").mkdir()
    found = verified(document, tmp_path / "elsewhere")
    assert found.counts.grants
    assert (found.good, found.has_errors, _states(found)) == (False, False, {"not allowed": 12})
