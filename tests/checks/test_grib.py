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


MESSAGE: dict[str, Any] = GRID | {"shortName": "t", "level": 500}


def write_messages(path: Path, *changes: dict[str, Any]) -> Path:
    """Write a message for each of the changes, each with values of its own."""
    with path.open("wb") as file:
        for number, change in enumerate(changes):
            message = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
            for key, value in (MESSAGE | change).items():
                eccodes.codes_set(message, key, value)
            values = np.random.default_rng(number).normal(280, 5, ROWS * COLUMNS)
            eccodes.codes_set_values(message, values)
            eccodes.codes_write(message, file)
            eccodes.codes_release(message)
    return path


def pointed(path: Path, key: str, message: int, document: dict[str, Any]) -> dict[str, Any]:
    """Return a set one of whose references leads to another message."""
    found = copy.deepcopy(document)
    found["refs"][key] = [str(path), *eccodes_places(path)[message]]
    return found


def test_times_that_are_ten_minutes_apart(tmp_path: Path) -> None:
    """As a number, ten minutes are less than a millionth of the seconds since 1970."""
    path = write_messages(tmp_path / "a.grib2", *({"dataTime": each} for each in (600, 610, 620)))
    how: dict[str, Any] = {"identical_dims": ["latitude", "longitude"], "inline_threshold": 100}
    document = concatenated(scanned(path), concat_dims=["time"], **how)
    assert verified(document, path).good
    found = verified(pointed(path, "t/1.0.0", 2, document), path, "none")
    (mine,) = (each for each in found.findings if each.code == "misplaced")
    assert "t/1.0.0 is a message of time 1577859600, the set says 1577859000" in mine.message


FURTHER_NORTH = {
    "latitudeOfFirstGridPointInDegrees": 70.0, "latitudeOfLastGridPointInDegrees": 10.0,
}  # fmt: skip
NARROW = {
    "Ni": ROWS, "Nj": COLUMNS, "longitudeOfLastGridPointInDegrees": 60.0,
    "latitudeOfLastGridPointInDegrees": -50.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("other", "code", "said"),
    [
        ({"typeOfLevel": "heightAboveGround"}, "other-array", "typeOfLevel heightAboveGround"),
        (NARROW, "shape", "shape (12, 7), the set says (7, 12)"),
    ],
)
def test_a_message_of_another_kind(
    tmp_path: Path, other: dict[str, Any], code: str, said: str
) -> None:
    path = write_messages(tmp_path / "a.grib2", {}, other)
    document = scanned(path)[0]
    assert verified(document, path).good
    found = verified(pointed(path, "t/0.0", 1, document), path, "none")
    assert any(each.code == code and said in each.message for each in found.findings), str(found)


def test_a_message_of_another_grid(tmp_path: Path) -> None:
    levels: list[dict[str, Any]] = [{"level": 500}, {"level": 700}, {"level": 700} | FURTHER_NORTH]
    path = write_messages(tmp_path / "a.grib2", *levels)
    how: dict[str, Any] = {"identical_dims": ["latitude", "longitude"], "inline_threshold": 100}
    document = concatenated(scanned(path)[:2], concat_dims=["isobaricInhPa"], **how)
    assert verified(document, path).good
    key = next(key for key in ("t/0.0.0", "t/1.0.0") if document["refs"][key][1])
    found = verified(pointed(path, key, 2, document), path, "none")
    assert any("is a message of another grid" in each.message for each in found.findings)


SUM = {"productDefinitionTemplateNumber": 8, "shortName": "tp", "typeOfLevel": "surface"}
TWICE: dict[str, list[dict[str, Any]]] = {
    "sums over other hours": [SUM | {"stepRange": each} for each in ("0-9", "6-9")],
    "mean and spread": [
        {"productDefinitionTemplateNumber": 2, "derivedForecast": each} for each in (0, 4)
    ],
    "percentiles": [
        {"productDefinitionTemplateNumber": 6, "percentileValue": each} for each in (10, 90)
    ],
}


@pytest.mark.parametrize("values", ["none", "all"])
@pytest.mark.parametrize("name", TWICE)
def test_messages_that_nothing_in_the_set_distinguishes(
    tmp_path: Path, name: str, values: str
) -> None:
    """kerchunk keeps neither the hours of a sum nor which part of an ensemble it is."""
    path = write_messages(tmp_path / "a.grib2", *TWICE[name])
    found = verified(scanned(path)[0], path, values)
    assert (found.status, found.headline.text) == (2, "not known: 1 chunk was not compared")
    assert "the choice among messages with the same coordinates" in str(found)
    own = rx.open_references(path)
    assert own.verify(values=values).good
    first, second = (each for each in own.arrays() if each.rpartition("/")[2] in ("t", "tp"))
    swapped = dict(own.to_v0())
    keys = [f"{each}/0.0" for each in (first, second)]
    swapped |= {keys[0]: swapped[keys[1]], keys[1]: swapped[keys[0]]}
    swapped |= {key: [str(path), *each[1:]] for key, each in swapped.items() if key in keys}
    again = verified({"version": 1, "refs": swapped}, path, values)
    assert {("other-array", first), ("other-array", second)} <= codes(again)


def test_a_message_that_is_in_the_file_twice(tmp_path: Path) -> None:
    path = write_messages(tmp_path / "a.grib2", {})
    path.write_bytes(path.read_bytes() * 2)
    assert verified(scanned(path)[0], path).good


def test_places_that_the_set_does_not_say(path: Path) -> None:
    document = joined(path)
    for key in [each for each in document["refs"] if each.startswith(("step/", "valid_time/"))]:
        del document["refs"][key]
    found = verified(document, path)
    assert (found.good, found.has_errors) == (False, False)
    assert found.headline.text.startswith("not known: ")


def test_a_file_that_ends_in_a_header(path: Path, tmp_path: Path) -> None:
    short = tmp_path / "a.grib2"
    short.write_bytes(path.read_bytes() + path.read_bytes()[:10])
    with pytest.raises(rx.RefexplorerError, match="the file ends in its header"):
        rx.open_references(short)


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
