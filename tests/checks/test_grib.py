"""Sets of GRIB messages, as kerchunk writes them and with mistakes; they take eccodes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eccodes
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.report import Report
from refexplorer.checks.states import Rank
from tests.helpers.kerchunk_sets import concatenated
from tests.helpers.verifying import codes, n_with

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

ROWS, COLUMNS = 7, 12
STEPS = (0, 6, 12)
GRID = {
    "Ni": COLUMNS, "Nj": ROWS, "latitudeOfFirstGridPointInDegrees": 60.0,
    "latitudeOfLastGridPointInDegrees": 0.0, "longitudeOfFirstGridPointInDegrees": 0.0,
    "longitudeOfLastGridPointInDegrees": 110.0, "iDirectionIncrementInDegrees": 10.0,
    "jDirectionIncrementInDegrees": 10.0, "dataDate": 20200101, "dataTime": 600,
    "bitsPerValue": 16,
}  # fmt: skip
KEY = "t2m/1.0.0"


def write_grib(path: Path, edition: int = 2, missing: bool = False, **more: Any) -> Path:
    """Write a file of two variables at three steps."""
    chance = np.random.default_rng(0)
    with path.open("wb") as file:
        for name in ("2t", "sp"):
            for step in STEPS:
                message = eccodes.codes_grib_new_from_samples(f"regular_ll_sfc_grib{edition}")
                for key, value in (GRID | {"shortName": name, "step": step} | more).items():
                    eccodes.codes_set(message, key, value)
                if edition == 1 and name == "2t":
                    eccodes.codes_set(message, "indicatorOfTypeOfLevel", 105)
                    eccodes.codes_set(message, "level", 2)
                values = chance.normal(280, 5, ROWS * COLUMNS)
                if missing:
                    eccodes.codes_set(message, "missingValue", 9999.0)
                    eccodes.codes_set(message, "bitmapPresent", 1)
                    values[3] = 9999
                eccodes.codes_set_values(message, values)
                eccodes.codes_write(message, file)
                eccodes.codes_release(message)
    return path


def scanned(path: Path) -> list[dict[str, Any]]:
    grib2 = pytest.importorskip("kerchunk.grib2")
    found = copy.deepcopy(grib2.scan_grib(str(path)))
    return [each | {"templates": {"u": str(path)}} for each in found]


def joined(path: Path, name: str = "t2m") -> dict[str, Any]:
    """Return the messages of one variable, concatenated along their steps."""
    own = [each for each in scanned(path) if f"{name}/.zarray" in each["refs"]]
    return concatenated(
        own, concat_dims=["step"], identical_dims=["latitude", "longitude"], inline_threshold=100
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_grib(tmp_path_factory.mktemp("grib") / "a.grib2")


def verified(document: dict[str, Any], path: Path, values: str = "all") -> Report:
    return rx.open_references(document).allowing(f"file://{path.parent}").verify(values=values)


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "with missing values"])
def test_kerchunk(tmp_path: Path, missing: bool) -> None:
    path = write_grib(tmp_path / "a.grib", missing=missing)
    documents = scanned(path)
    assert len(documents) == 6
    for document in documents:
        found = verified(document, path)
        assert (found.findings, found.good) == ((), True), str(found)
        assert dict(found.counts.forms) == {"GRIB": 1}
        assert found.counts.values >= ROWS * COLUMNS


def test_kerchunk_of_several_steps(path: Path) -> None:
    found = verified(joined(path), path)
    assert (found.findings, found.good) == ((), True), str(found)
    assert n_with(found, Rank.GOOD) >= 3
    assert "along" not in found.summary[-1]


def test_edition_1_by_hand(path: Path, tmp_path: Path) -> None:
    """kerchunk reads the lengths of edition 2 only."""
    older = write_grib(tmp_path / "a.grib1", 1)
    document = joined(path)
    for number, (start, size) in enumerate(eccodes_places(older)[:3]):
        document["refs"][f"t2m/{number}.0.0"] = [str(older), start, size]
    found = verified(document, older)
    assert (found.findings, found.good) == ((), True), str(found)
    document["refs"][KEY][2] += 4
    assert codes(verified(document, older, "none")) == {("length", "t2m")}


def shift(by: int, at: int) -> Callable[[dict[str, Any]], None]:
    def change(refs: dict[str, Any]) -> None:
        refs[KEY] = list(refs[KEY])
        refs[KEY][at] += by

    return change


def swap(refs: dict[str, Any]) -> None:
    refs["t2m/1.0.0"], refs["t2m/2.0.0"] = refs["t2m/2.0.0"], refs["t2m/1.0.0"]


def other_variable(refs: dict[str, Any]) -> None:
    (start, size) = (eccodes_places(Path(refs[KEY][0])))[4]
    refs[KEY] = [refs[KEY][0], start, size]


def eccodes_places(path: Path) -> list[tuple[int, int]]:
    """Return offset and length of all messages, as eccodes has them."""
    found = []
    with path.open("rb") as file:
        while (message := eccodes.codes_grib_new_from_file(file)) is not None:
            found.append(
                tuple(int(eccodes.codes_get(message, key)) for key in ("offset", "totalLength"))
            )
            eccodes.codes_release(message)
    return found  # type: ignore[return-value]


def metadata(name: str, **changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(refs: dict[str, Any]) -> None:
        refs[name] = json.dumps(json.loads(refs[name]) | changes)

    return change


@pytest.mark.parametrize(
    ("change", "code", "array", "said"),
    [
        (shift(8, 1), "offset", "t2m", "t2m/1.0.0 starts 8 bytes inside message 1"),
        (shift(10**6, 1), "offset", "t2m", "is in no message of the file"),
        (shift(-1, 2), "length", "t2m", "t2m/1.0.0 has 346 bytes, the message 347"),
        (swap, "misplaced", "t2m", "t2m/2.0.0 is a message of step 6, the set says 12"),
        (other_variable, "other-array", "t2m", "t2m/1.0.0 is a message of `sp`, not of `2t`"),
        (metadata("t2m/.zattrs", units="degC"), "units", "t2m", "units K, the set says degC"),
        (metadata("t2m/.zarray", dtype="<f4"), "dtype", "t2m", "float64 by its codec"),
        (
            metadata("t2m/.zarray", chunks=[1, 6, 12], shape=[3, 6, 12]),
            "shape",
            "t2m",
            "shape (7, 12), the set says (1, 6, 12)",
        ),
        (
            metadata("valid_time/.zattrs", units="seconds since 1980-01-01"),
            "held-values",
            "valid_time",
            "the file 1577858400",
        ),
    ],
)
def test_mistakes(
    path: Path,
    change: Callable[[dict[str, Any]], None],
    code: str,
    array: str,
    said: str,
) -> None:
    document = joined(path)
    change(document["refs"])
    found = verified(document, path, "none")
    (mine,) = [each for each in found.findings if each.code == code and each.array == array]
    assert said in mine.message
    assert not found.good


def test_values_are_compared_with_those_of_eccodes(path: Path) -> None:
    """An attribute of packing that no message has: each value is another one."""
    document = joined(path)
    metadata("t2m/.zattrs", add_offset=1.0)(document["refs"])
    found = verified(document, path)
    assert ("values", "t2m") in codes(found)
    assert found.counts.largest == pytest.approx(1)


def test_a_file_that_ends_too_early(path: Path, tmp_path: Path) -> None:
    document = joined(path)
    short = tmp_path / "a.grib2"
    short.write_bytes(path.read_bytes()[:-10])
    for value in document["refs"].values():
        if isinstance(value, list):
            value[0] = str(short)
    found = verified(document, short, "none")
    assert not found.good
    assert found.has_errors
    said = [each.message for each in found.findings]
    assert any("is incomplete" in each for each in said), said


def drop(refs: dict[str, Any]) -> None:
    del refs[KEY]


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (shift(8, 1), ["offset"]),
        (shift(10**6, 1), ["offset"]),
        (shift(-1, 2), ["length"]),
        (swap, ["misplaced"]),
        (other_variable, ["other-array"]),
        (drop, ["no-reference"]),
        (metadata("t2m/.zattrs", units="degC"), ["units"]),
        (metadata("t2m/.zarray", dtype="<f4"), ["dtype"]),
    ],
)
def test_messages_are_repaired(
    path: Path, change: Callable[[dict[str, Any]], None], codes: list[str]
) -> None:
    document = joined(path)
    mine = copy.deepcopy(document)
    change(mine["refs"])
    found = rx.repair(mine, allow=[f"file://{path.parent}"], values="all")
    assert {each.code for each in found.before.findings} >= set(codes)
    assert (found.good, found.left) == (True, ()), str(found)
    given = rx.open_references(document)
    assert {key: each for key, each in found.references.items() if "/.z" not in key} == {
        key: each for key, each in given.items() if "/.z" not in key
    }
    assert found.references.array("t2m").attributes == given.array("t2m").attributes


def test_messages_without_a_place_are_not_repaired(path: Path) -> None:
    """Nothing tells which step a message is of, if the set holds no steps."""
    document = joined(path)
    for key in [each for each in document["refs"] if each.startswith(("step/", "valid_time/"))]:
        del document["refs"][key]
    shift(8, 1)(document["refs"])
    found = rx.repair(document, allow=[f"file://{path.parent}"])
    assert found.difference.total == 0
    assert [each.code for each in found.left] == ["offset"]
    assert any("does not say where its messages are along `step`" in note for note in found.notes)


def test_rows_that_run_backwards(tmp_path: Path) -> None:
    """cfgrib turns each second row; kerchunk's codec does not."""
    cfgrib = pytest.importorskip("cfgrib")
    path = write_grib(tmp_path / "a.grib2", alternativeRowScanning=1)
    mine = scanned(path)[0]
    assert ("order", "t2m") in codes(verified(mine, path, "none"))
    assert {("order", "t2m"), ("values", "t2m")} <= codes(verified(mine, path))
    values = np.asarray(rx.open_references(mine).allowing(path.parent).read("t2m"))
    expected = cfgrib.open_datasets(str(path), indexpath="")
    (t2m,) = (each["t2m"][0].values for each in expected if "t2m" in each)
    assert np.array_equal(values[::2], t2m[::2])
    assert np.array_equal(values[1::2], t2m[1::2, ::-1])
