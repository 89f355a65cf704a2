"""Each kind of mistake, made alone in a set of netCDF4 files, is repaired, or told and left."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import refexplorer as rx
from tests.helpers.kerchunk_sets import translated
from tests.helpers.verifying import Changed, joined, joined_by_hand, write_files, write_netcdf

KEY = "foo/2.1.0"
"""The first time of the second file."""
Change = Callable[[Changed], None]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def document(files: list[Path]) -> dict[str, Any]:
    """A set that refers to its coordinates."""
    return joined_by_hand([translated(path)["refs"] for path in files])


@pytest.fixture(scope="module")
def held(files: list[Path]) -> dict[str, Any]:
    """A set with the coordinates inline."""
    return joined(files, 100)


def repaired(document: Any, folder: Path, **options: Any) -> rx.types.Repair:
    return rx.repair(document, allow=[f"file://{folder}"], **options)


def changed(document: dict[str, Any], change: Change) -> dict[str, Any]:
    found = Changed(document)
    change(found)
    return found.document


def v0(document: Any) -> dict[str, Any]:
    """Return a set with metadata parsed, as two texts of JSON may mean the same."""
    found = rx.open_references(document).to_v0()
    return {k: json.loads(v) if ".z" in k and isinstance(v, str) else v for k, v in found.items()}


def values_of(refs: rx.ReferenceSet, folder: Path, name: str) -> np.ndarray:
    """Return what zarr reads of an array."""
    group = refs.allowing(f"file://{folder}").to_zarr()
    assert isinstance(group, zarr.Group)
    array = group[name]
    assert isinstance(array, zarr.Array)
    return np.asarray(array[...])


def native(files: list[Path], name: str) -> np.ndarray:
    import h5py

    parts = []
    for path in files:
        with h5py.File(path) as file:
            parts.append(file[name][...])
    return np.concatenate(parts)


def shift(by: int, at: int, key: str = KEY) -> Change:
    def change(mine: Changed) -> None:
        mine.refs[key] = list(mine.refs[key])
        mine.refs[key][at] += by

    return change


def swap(one: str, other: str) -> Change:
    def change(mine: Changed) -> None:
        mine.refs[one], mine.refs[other] = mine.refs[other], mine.refs[one]

    return change


def all_shifted(mine: Changed) -> None:
    """As when a file was written again with a longer header."""
    for key, value in list(mine.refs.items()):
        if isinstance(value, list) and value[0].endswith("o_0001.nc"):
            shift(512, 1, key)(mine)


def into_bar(mine: Changed) -> None:
    """All chunks of an array of one file lead into another one."""
    for key, value in list(mine.refs.items()):
        if key.startswith("foo/") and isinstance(value, list) and value[0].endswith("o_0001.nc"):
            mine.refs[key] = mine.refs["bar/1.0.0"]


REFERENCES: dict[str, Change] = {
    "offset": shift(8, 1),
    "far": shift(10**9, 1),
    "shorter": shift(-1, 2),
    "longer": shift(1, 2),
    "swapped": swap(KEY, "foo/2.0.1"),
    "swapped between files": swap(KEY, "foo/4.1.0"),
    "other array": swap(KEY, "bar/1.0.0"),
    "dropped": lambda mine: mine.refs.pop(KEY),
    "dropped of one chunk": lambda mine: mine.refs.pop("bar/1.0.0"),
    "a file all shifted": all_shifted,
    "an array in another": into_bar,
}


@pytest.mark.parametrize("change", REFERENCES.values(), ids=REFERENCES)
@pytest.mark.parametrize("coordinates", ["referenced", "held"])
def test_references(
    files: list[Path],
    document: dict[str, Any],
    held: dict[str, Any],
    change: Change,
    coordinates: str,
) -> None:
    right = document if coordinates == "referenced" else held
    wrong = changed(right, change)
    found = repaired(wrong, files[0].parent)
    assert found.before.has_errors
    assert (found.left, found.after.findings) == ((), ())
    assert found.good
    assert v0(found.references.to_v0()) == v0(right)
    assert found.repaired


@pytest.mark.parametrize("coordinates", ["referenced", "held"])
def test_the_set_that_is_right_has_the_values_of_its_files(
    files: list[Path], document: dict[str, Any], held: dict[str, Any], coordinates: str
) -> None:
    """So that a set has them, too, that becomes the same by repair."""
    right = rx.open_references(document if coordinates == "referenced" else held)
    for name in ("foo", "bar"):
        np.testing.assert_array_equal(values_of(right, files[0].parent, name), native(files, name))


def test_the_chunks_of_two_files_are_swapped(files: list[Path], held: dict[str, Any]) -> None:
    """Each file is moved as a whole, which only its times tell."""

    def change(mine: Changed) -> None:
        for key in [key for key in mine.refs if key.startswith(("foo/0", "foo/1"))]:
            row, rest = key.removeprefix("foo/").split(".", 1)
            swap(key, f"foo/{int(row) + 4}.{rest}")(mine)
        swap("bar/0.0.0", "bar/2.0.0")(mine)

    found = repaired(changed(held, change), files[0].parent)
    named = {Path(url).name for each in found.before.findings for url in each.files}
    assert named == {"o_0000.nc", "o_0002.nc"}
    assert found.good
    assert v0(found.references.to_v0()) == v0(held)


def metadata(key: str, **changes: Any) -> Change:
    return lambda mine: mine.metadata(key, **changes)


METADATA: list[Change] = [
    metadata("foo/.zarray", dtype="<i4"),
    metadata("foo/.zarray", dtype="<u2"),
    metadata("foo/.zarray", dtype=">i2"),
    metadata("foo/.zarray", chunks=[3, 2, 16]),
    metadata("foo/.zarray", shape=[21, 8, 16]),
    metadata("foo/.zarray", shape=[15, 8, 16]),
    metadata("foo/.zarray", filters=[{"id": "zlib", "level": 4}]),
    metadata("foo/.zarray", filters=None),
    metadata("foo/.zarray", fill_value=7),
    metadata("foo/.zattrs", _FillValue=-1),
    metadata("foo/.zattrs", missing_value=5),
    metadata("foo/.zattrs", scale_factor=0.2),
    metadata("foo/.zattrs", scale_factor=...),
    metadata("foo/.zattrs", add_offset=0),
    metadata("foo/.zattrs", units="degC"),
    metadata("foo/.zattrs", _ARRAY_DIMENSIONS=["time", "lon", "lat"]),
]


@pytest.mark.parametrize("change", METADATA)
def test_metadata(files: list[Path], document: dict[str, Any], change: Change) -> None:
    found = repaired(changed(document, change), files[0].parent)
    assert found.before.has_errors
    assert found.left == ()
    assert found.good
    np.testing.assert_array_equal(
        values_of(found.references, files[0].parent, "foo"), native(files, "foo")
    )
    wanted, got = v0(document), v0(found.references.to_v0())
    assert wanted.keys() == got.keys()
    assert {key for key in wanted if wanted[key] != got[key]} <= {"foo/.zarray", "foo/.zattrs"}


def test_metadata_and_references_at_once(files: list[Path], document: dict[str, Any]) -> None:
    """Chunks of another shape have no places; with the right one those that are wrong show."""

    def change(mine: Changed) -> None:
        metadata("foo/.zarray", chunks=[3, 2, 16])(mine)
        shift(8, 1)(mine)

    found = repaired(changed(document, change), files[0].parent)
    assert found.good
    assert v0(found.references.to_v0())[KEY] == v0(document)[KEY]


def test_a_set_in_order_is_unchanged(
    files: list[Path], document: dict[str, Any], tmp_path: Path
) -> None:
    found = repaired(document, files[0].parent, output=tmp_path / "new.json")
    assert (found.good, found.repaired, found.left) == (True, (), ())
    assert found.difference.total == 0
    assert v0(tmp_path / "new.json") == v0(document)
    assert found.verdict == "nothing to repair: the same as its files"


def test_files_that_pack_otherwise_are_reported_and_left(tmp_path: Path) -> None:
    files = write_files(tmp_path, {1: {"scale_factor": 0.2}})
    singles = [translated(path)["refs"] for path in files]
    document = joined_by_hand(singles)
    found = repaired(document, tmp_path)
    (left,) = found.left
    assert left.code == "scale_factor"
    assert left.remedy.startswith("An array can have only one scale_factor")
    assert found.difference.total == 0
    assert v0(found.references.to_v0()) == v0(document)
    assert "nothing can be repaired" in str(found)
    with pytest.raises(rx.RefexplorerError, match="nothing was written"):
        found.write(tmp_path / "new.json")
    assert not (tmp_path / "new.json").exists()
    both = changed(document, shift(8, 1))
    found = repaired(both, tmp_path, output=tmp_path / "new.json")
    assert [each.code for each in found.left] == ["scale_factor"]
    assert v0(tmp_path / "new.json") == v0(document)


def test_a_file_that_was_written_again(tmp_path: Path) -> None:
    """The same values lie elsewhere, in chunks of other lengths."""
    import xarray as xr

    files = write_files(tmp_path)
    document = joined(files)
    with xr.open_dataset(files[1], decode_cf=False) as data:
        again = data.load()
    again["before"] = ("more", np.arange(3000.0))
    names = ["before", *(name for name in again.variables if name != "before")]
    kept = {"chunksizes": (3, 4, 8), "zlib": True, "complevel": 9, "shuffle": True}
    again[names].to_netcdf(files[1], engine="h5netcdf", encoding={"foo": kept})
    found = repaired(document, tmp_path)
    assert found.before.has_errors
    assert found.good
    for name in ("foo", "bar"):
        np.testing.assert_array_equal(
            values_of(found.references, tmp_path, name), native(files, name)
        )


def test_a_place_that_is_not_certain_is_left(files: list[Path], document: dict[str, Any]) -> None:
    """Half of the keys of a file that moved are gone: nothing tells where it belongs."""

    def change(mine: Changed) -> None:
        all_shifted(mine)
        for key in list(mine.refs):
            if key.startswith(("foo/2", "foo/3.0", "bar/1", "time/1")):
                del mine.refs[key]

    wrong = changed(document, change)
    found = repaired(wrong, files[0].parent)
    assert found.left
    assert found.difference.total == 0
    assert any("the position of the file along `time` is not certain" in n for n in found.notes)


def test_moved_files(files: list[Path], document: dict[str, Any], tmp_path: Path) -> None:
    folder = str(files[0].parent)

    def change(mine: Changed) -> None:
        for value in mine.refs.values():
            if isinstance(value, list):
                value[0] = value[0].replace(folder, "/gone/away")

    wrong = changed(document, change)
    lost = rx.repair(wrong, allow=[f"file://{folder}", "file:///"])
    assert lost.before.headline.text == "has errors: 3 files cannot be read"
    assert lost.difference.total == 0
    found = repaired(wrong, files[0].parent, renames=[("/gone/away", folder)])
    assert found.good
    assert v0(found.references.to_v0()) == v0(document)
    assert found.difference.counts["moved"] > 0
    with pytest.raises(rx.RefexplorerError, match=r"No URL of .* starts with '/else'"):
        repaired(wrong, files[0].parent, renames=[("/else", folder)])


def test_chunks_that_a_file_never_wrote(tmp_path: Path) -> None:
    """A key that refers to bytes of another array, where the file has no chunk, is dropped."""
    import h5py

    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (40,), "<i4", chunks=(10,), fillvalue=-1)[:20] = np.arange(20)
        file["y"] = np.arange(10.0)
    document = translated(path)
    right = v0(document)
    assert "x/2" not in right
    document["refs"]["x/2"] = document["refs"]["y/0"]
    found = repaired(document, tmp_path)
    assert found.good
    assert v0(found.references.to_v0()) == right
    with h5py.File(path) as file:
        np.testing.assert_array_equal(values_of(found.references, tmp_path, "x"), file["x"][...])


def test_values_that_the_set_holds_are_left(files: list[Path], held: dict[str, Any]) -> None:
    lat = np.linspace(-70, 70, 8)
    lat[3] += 0.01
    text = "base64:" + base64.b64encode(lat.tobytes()).decode()
    wrong = changed(held, lambda mine: mine.refs.__setitem__("lat/0", text))
    found = repaired(wrong, files[0].parent)
    (left,) = found.left
    assert (left.code, left.array) == ("held-values", "lat")
    assert "These values are stored in the set" in str(found)
    assert v0(found.references.to_v0()) == v0(wrong)


def test_what_was_written_is_verified_before_it_gets_its_name(tmp_path: Path) -> None:
    """A file that was replaced since the repair was made is seen."""
    files = write_files(tmp_path)
    mine = Changed(joined(files))
    mine.refs["foo/2.1.0"][1] += 8
    repair = rx.repair(mine.document, allow=[f"file://{tmp_path}"])
    assert repair.good
    write_netcdf(files[2], 2, {"scale_factor": 0.5})
    with pytest.raises(rx.RefexplorerError, match=r"verified again.*o_0002\.nc"):
        repair.write(tmp_path / "new.json")
    assert not list(tmp_path.glob("new*"))
    write_netcdf(files[2], 2)
    assert repair.write(tmp_path / "new.json") == 42
    assert rx.open_references(tmp_path / "new.json").verify().good
