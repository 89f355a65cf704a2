"""Dates that names of targets hold."""

from __future__ import annotations

import numpy as np
import pytest

from refexplorer.refset.targets import dates_of, folders_of

GOES = "s3://noaa-goes16/SST/2021/{:03}/16/OR_ABI_G16_s2021{:03}1601234_e20213651605000_c20.nc"
DATED = [
    (["a/sst_2025-07.nc", "a/sst_2025-08.nc"], ["2025-07-01", "2025-08-01"]),
    ([GOES.format(1, 1), GOES.format(365, 365)], ["2021-01-01T16:01:23", "2021-12-31T16:01:23"]),
    (
        ["wrfout_d01_2000-01-01_00:00:00", "wrfout_d01_2000-01-02_06:30:00"],
        ["2000-01-01", "2000-01-02T06:30"],
    ),
    (["1981/19810901120000-ESA.nc", "1981/19810902120000-ESA.nc"],
     ["1981-09-01T12:00", "1981-09-02T12:00"]),
    (["o2_gn_1850-1949.nc", "o2_gn_1950-2014.nc"], ["1850-01-01", "1950-01-01"]),
    (["gfs.20240101/00/gfs.f001", "gfs.20240102/00/gfs.f001"], ["2024-01-01", "2024-01-02"]),
    (["2023/12/31/a.nc", "2024/01/01/a.nc"], ["2023-12-31", "2024-01-01"]),
]  # fmt: skip


@pytest.mark.parametrize(("names", "dates"), DATED, ids=[names[0] for names, _ in DATED])
def test_names_are_read_as_people_write_them(names: list[str], dates: list[str]) -> None:
    assert dates_of(names).tolist() == np.array(dates, "datetime64[s]").tolist()


@pytest.mark.parametrize(
    "names",
    [
        [], [None], ["a_2020-01.nc"], ["f1.nc", "f2.nc"], ["v2020/a.nc", "v2020/b.nc"],
        ["a-12345678.nc", "b-99999999.nc"],
    ],
)  # fmt: skip
def test_what_says_nothing_is_no_date(names: list[str | None]) -> None:
    assert np.isnat(dates_of(names)).all()


def test_a_name_that_is_written_otherwise_has_no_date() -> None:
    names = [f"a_2020{month:02}.nc" for month in range(1, 13)] + ["mask.nc"]
    found = dates_of(names)
    assert np.isnat(found).tolist() == [False] * 12 + [True]


def test_no_day_is_made_up() -> None:
    names = [f"a_2021-01-{day:02}.nc" for day in range(1, 20)] + ["a_2021-02-30.nc"]
    assert np.isnat(dates_of(names)[-1])


def test_folders_and_hosts() -> None:
    urls = ["s3://b/x/y/f.nc", "s3://b/g.nc", "h.nc", "/data/i.nc", None]
    assert folders_of(urls, False) == ["s3://b/x/y/", "s3://b/", "", "/data/", ""]
    assert folders_of(urls, True) == ["s3://b", "s3://b", "", "", ""]
