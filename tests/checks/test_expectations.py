"""Expectations are a contract: what differs is an error, what cannot be told is unknown."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import xarray as xr

from tests.helpers.axes import axis
from tests.helpers.commands import Run, run


def check(tmp_path: Path, document: Any, expected: str, *options: str | Path) -> Run:
    source, contract = tmp_path / "set.json", tmp_path / "expected.toml"
    source.write_text(json.dumps(document))
    contract.write_text(expected)
    return run("check", source, "--expect", contract, *options)


GOOD = """
[axes.time]
from = "2020-01-01"
until = 2020-01-10
step = "1 day"
[axes.lat]
min = -90
max = 90
step = 0.25
[arrays.time]
dimensions = ["time"]
dtype = "int64"
units = "days since 2020-01-01"
missing-chunks = 0.5
""".replace("2020-01-10", '"2020-01-10"')
DAYS = axis(range(10), chunks=[1])
LATITUDES = axis(np.arange(-90, 90.1, 0.25), "lat", "degrees_north")


def test_a_set_as_it_is_expected_passes(tmp_path: Path) -> None:
    ran = check(tmp_path, DAYS | LATITUDES, GOOD)
    assert (ran.status, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("document", "expected", "code", "sentence"),
    [
        (axis(range(1, 10)), '[axes.time]\nfrom = "2020-01-01"', "expected-axis",
         "`time` begins at 2020-01-02, later than expected: 2020-01-01"),
        (axis(range(9)), '[axes.time]\nuntil = "2020-01-10"', "not-current",
         "`time` ends at 2020-01-09, earlier than expected: 2020-01-10"),
        (axis([0, 1, 2, 4, 5]), '[axes.time]\nstep = "1d"', "expected-axis",
         "1 step is not 1d: between 2020-01-03 and 2020-01-05 (elements 2 and 3)"),
        (axis([0, 31, 91]), '[axes.time]\nstep = "1 month"', "expected-axis",
         "1 step is not 1 month: between 2020-02-01 and 2020-04-01 (elements 1 and 2)"),
        (axis([0, 1, 2, 4, 5]), "[axes.time]\ngaps = false", "expected-axis", "has gaps"),
        (axis([0, 4, 9], calendar="360_day"), '[axes.time]\nuntil = "2020-01-30"', "not-current",
         "ends at 2020-01-10"),
        (axis([0, 91], "lat", ""), "[axes.lat]\nmax = 90", "expected-axis",
         "`lat` has 91, beyond the expected max 90"),
        (DAYS, "[arrays.sst]", "expected-array", "`sst` is not in the set"),
        (DAYS, '[arrays.time]\nunits = "hours"', "expected-array",
         "has units days since 2020-01-01, expected: hours"),
        (DAYS, '[arrays.time]\ndtype = "float32"', "expected-array",
         "has dtype int64, expected: float32"),
        ({k: v for k, v in DAYS.items() if k != "time/3"}, "[arrays.time]\nmissing-chunks = 0.05",
         "expected-share", "1 of 10 chunks (10.00%) have no reference, expected: at most 5.00%"),
    ],
)  # fmt: skip
def test_what_is_otherwise_is_an_error(
    document: Any, expected: str, code: str, sentence: str, tmp_path: Path
) -> None:
    ran = check(tmp_path, document, expected)
    assert ran.status == 1
    assert f"error {code} at" in ran.out
    assert sentence in ran.out


def test_gaps_may_be_allowed(tmp_path: Path) -> None:
    document = axis([0, 1, 2, 4, 5])
    assert check(tmp_path, document, '[axes.time]\nstep = "24h"\ngaps = true').status == 0


def test_a_set_has_to_be_current(tmp_path: Path) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    for age, status in ((6, 0), (30, 1)):
        start = now - timedelta(hours=age + 24)
        document = axis([0, 12, 24], units=f"hours since {start:%Y-%m-%d %H:%M:%S}")
        assert check(tmp_path, document, '[axes.time]\nuntil = "now-12h"').status == status


def test_what_cannot_be_known_is_unknown(tmp_path: Path) -> None:
    np.arange(5, dtype="<i8").tofile(tmp_path / "time.bin")
    document = axis(range(5)) | {"time/0": ["time.bin"]}
    expected = '[axes.time]\nstep = "1 day"'
    ran = check(tmp_path, document, expected)
    assert ran.status == 2
    assert "not known: whether `time` is as expected (it is in files)" in ran.out
    assert check(tmp_path, document, expected, "--allow", tmp_path).status == 0


def sst(**changed: Any) -> dict[str, Any]:
    """Return a packed array of 4 x 3 in chunks of 2 x 2, with one masked value."""
    meta = {
        "zarr_format": 2, "shape": [4, 3], "chunks": [2, 2], "dtype": "<i2", "order": "C",
        "compressor": None, "filters": None, "fill_value": -999,
    }  # fmt: skip
    attributes = {"_ARRAY_DIMENSIONS": ["y", "x"], "scale_factor": 0.5, "add_offset": 10.0}
    chunks = {
        "sst/0.0": [2, 4, -999, 6], "sst/0.1": [8, 0, 10, 0], "sst/1.0": [-40, 14, 16, 18],
        "sst/1.1": [20, 0, 61, 0],
    }  # fmt: skip
    encoded = {
        key: "base64:" + b64encode(np.array(values, "<i2").tobytes()).decode()
        for key, values in chunks.items()
    }
    document = {
        ".zgroup": '{"zarr_format": 2}', "sst/.zarray": json.dumps(meta),
        "sst/.zattrs": json.dumps(attributes),
    }  # fmt: skip
    return document | encoded | changed


@pytest.mark.parametrize(
    ("changed", "expected", "sentence"),
    [
        ({}, "missing-values = 0.05",
         "`sst`: 1 of 12 values (8.33%) are missing, expected: at most 5.00%"),
        ({}, "max = 40", "`sst` has 40.5 at [3, 2], beyond the expected max 40"),
        ({}, "min = -2.0", "`sst` has -10 at [2, 0], beyond the expected min -2"),
        ({}, "missing-values = 0.1\nmin = -10\nmax = 40.5", ""),
        ({"sst/1.1": None}, "missing-values = 0.2",
         "`sst`: 3 of 12 values (25.00%) are missing, expected: at most 20.00%"),
        ({"sst/1.1": None}, "missing-values = 0.25\nmax = 19", ""),
    ],
)  # fmt: skip
def test_values_are_bounded_as_xarray_decodes_them(
    changed: dict[str, Any], expected: str, sentence: str, tmp_path: Path
) -> None:
    document = {key: value for key, value in sst(**changed).items() if value is not None}
    ran = check(tmp_path, document, f"[arrays.sst]\n{expected}")
    assert (ran.status, sentence in " ".join(ran.out.split())) == (int(bool(sentence)), True)
    decoded = xr.open_zarr(fsspec.get_mapper("reference://", fo=document), consolidated=False).sst
    counts = int(decoded.isnull().sum()), float(decoded.min()), float(decoded.max())
    assert counts == ((1, -10, 40.5) if not changed else (3, -10, 19))


def test_values_that_cannot_be_read_are_unknown(tmp_path: Path) -> None:
    np.array([2, 4, -999, 200], "<i2").tofile(tmp_path / "data.bin")
    document = sst(**{"sst/0.0": ["data.bin"]})
    ran = check(tmp_path, document, "[arrays.sst]\nmax = 50")
    assert ran.status == 2
    assert "not known: whether the values of `sst` are as expected (" in ran.out
    assert check(tmp_path, document, "[arrays.sst]\nmax = 50", "--allow", tmp_path).status == 1
    ran = check(tmp_path, document | {"sst/0.0": ["lost.bin"]}, "[arrays.sst]\nmax = 40",
                "--allow", tmp_path)  # fmt: skip
    assert ran.status == 1  # what was read is beyond the bound already
    assert "1 chunk could not be read" in ran.out
    document = sst(**{"sst/0.0": ["{{nothing}}"]}, **{"sst/1.1": "base64:AAA="})
    document = {"version": 1, "templates": {}, "refs": document}
    ran = check(tmp_path, document, "[arrays.sst]\nmissing-values = 0.9")
    assert "2 chunks could not be read" in ran.out


def test_all_files_of_a_folder_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("a.nc", "b.nc", "other.txt"):
        (tmp_path / "data" / name).write_bytes(bytes(8))
    document = axis(range(1)) | {"time/0": ["data/a.nc", 0, 8]}
    expected = '[files]\npatterns = ["data/*.nc"]'
    ran = check(tmp_path, document, expected)
    assert ran.status == 1
    assert "1 of 2 files that match 'data/*.nc' are not in the set: b.nc" in ran.out
    (tmp_path / "data" / "b.nc").unlink()
    assert check(tmp_path, document, expected).status == 0
    ran = check(tmp_path, document, '[files]\npatterns = ["none/*.nc"]')
    assert ran.status == 2
    assert "not known: whether all files of a folder are there" in ran.out


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ("[axis.time]", "has the unknown key 'axis'. Did you mean `axes`?"),
        ("[axes.time]\nuntill = 1", "[axes.time] of expected.toml has the unknown key 'untill'."),
        ("[axes.time]\nuntil = 'yesterday'", "must be a date, a number or now-12h"),
        ("[axes.time]\nuntil = 'now-x'", "must be a date, a number or now-12h"),
        ("[axes.time]\nstep = 'often'", "must be a number, or a time such as 6h or 1 month"),
        ("[arrays]\nsst = 1", "[arrays.sst] of expected.toml must be a table."),
        ("[files]\npatterns = 'x'", "must be a list of texts"),
        ("axes", "expected.toml is not TOML"),
    ],
)
def test_a_wrong_file_is_one_sentence(expected: str, sentence: str, tmp_path: Path) -> None:
    ran = check(tmp_path, DAYS, expected)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1
