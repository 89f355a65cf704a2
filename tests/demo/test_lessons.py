"""Each lesson has one fault: values are wrong before, the tool names it, values are right after."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

import refexplorer as rx
from refexplorer import demo
from refexplorer.demo import lessons
from refexplorer.hosts.page.library import Library

pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs are not")


class Fault(NamedTuple):
    """A fault: what `verify` says of it, and a part of an array that has wrong values."""

    codes: set[str]
    key: str
    array: str
    step: int
    mends: bool = True


FAULTS = {
    "odd-day": Fault({"offset"}, "wind/3.0.0", "wind", 3),
    "cool-august": Fault({"misplaced"}, "sst/3.0.0", "sst", 6),
    "warm-september": Fault({"scale_factor"}, "sst/.zattrs", "sst", 12, mends=False),
    "two-warm-days": Fault({"no-reference"}, "sst/4.0.1", "sst", 8),
    "it-worked-yesterday": Fault({"offset"}, "wind/12.0.0", "wind", 13),
}


def truth(folder: Path, array: str, step: int) -> NDArray[Any]:
    """A step as h5py reads it from the file of that time."""
    with h5py.File(folder / lessons.FILES[step // 6]) as file:
        data, attributes = file[array][step % 6], file[array].attrs
        if "scale_factor" not in attributes:
            return np.asarray(data)
        values = data * attributes["scale_factor"] + attributes["add_offset"]
        return np.where(data == attributes["_FillValue"], np.nan, values)


def is_right(refs: rx.ReferenceSet, folder: Path, fault: Fault) -> bool:
    found = refs.to_xarray()[fault.array][fault.step].values
    right = truth(folder, fault.array, fault.step)
    return np.allclose(found, right, atol=1e-3, equal_nan=True)


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found_and_the_repaired_set_reads_as_the_files(
    name: str, tmp_path: Path
) -> None:
    fault = FAULTS[name]
    refs = rx.open_references(lessons.make(name, tmp_path))
    assert not is_right(refs, tmp_path, fault)
    found = refs.verify()
    assert fault.codes <= {each.code for each in found.findings if each.severity == "error"}
    assert fault.key in {each.key for each in found.findings}
    repaired = rx.repair(refs)
    if fault.mends:
        assert repaired.verdict.endswith("; the repaired set: the same as its files")
        assert is_right(repaired.references, tmp_path, fault)
    else:
        assert [each.code for each in repaired.left] == ["scale_factor"]


@pytest.mark.parametrize("name", [*[*FAULTS][:4], "slow-map"])
def test_three_tools_read_the_same_wrong_values(name: str, tmp_path: Path) -> None:
    pytest.importorskip("virtualizarr")
    path = lessons.make(name, tmp_path)
    ours = rx.open_references(path).to_xarray()
    for theirs in lessons.datasets(lessons.three_forms(path)).values():
        for array in ("sst", "wind", "time"):
            np.testing.assert_allclose(
                theirs[array].values.astype("f8"), ours[array].values.astype("f8"), rtol=1e-6
            )


def test_of_the_three_only_icechunk_refuses_a_newer_file(tmp_path: Path) -> None:
    icechunk = pytest.importorskip("icechunk")
    path = lessons.make("it-worked-yesterday", tmp_path)
    right = truth(tmp_path, "wind", 13)
    datasets = lessons.datasets(lessons.three_forms(path, loaded=["time"]))
    for name in ("kerchunk", "VirtualiZarr"):
        assert not np.allclose(datasets[name]["wind"][13], right)
    theirs = datasets["Icechunk"]
    assert np.allclose(theirs["wind"][0], truth(tmp_path, "wind", 0))
    with pytest.raises(icechunk.IcechunkError, match="changed"):
        theirs["wind"][13].load()


def test_the_slow_set_is_right_and_takes_many_requests(tmp_path: Path) -> None:
    path = lessons.make("slow-map", tmp_path)
    refs = rx.open_references(path)
    assert refs.verify().headline.text == "the same as its files"
    sound = rx.open_references(demo.path("sst.v0.json"))

    def requests(of: rx.ReferenceSet) -> int | None:
        (cost,) = [
            each for each in of.advise().accesses if (each.name, each.path) == ("one map", "wind")
        ]
        return cost.readers[0].requests

    assert (requests(refs), requests(sound)) == (24, 1)


def test_files_of_a_lesson_are_older_than_its_set_but_for_the_stale_one(tmp_path: Path) -> None:
    path = lessons.make("it-worked-yesterday", tmp_path)
    ages = [path.stat().st_mtime - (tmp_path / name).stat().st_mtime for name in lessons.FILES]
    assert [age > 24 * 3600 for age in ages] == [True, True, False]


def test_a_lesson_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="no lesson 'seven'; the lessons are odd-day, cool-august"):
        lessons.make("seven", tmp_path)


def test_the_page_offers_them_with_their_files() -> None:
    library = Library()
    for name, lesson in lessons.LESSONS.items():
        assert library.offers[f"lessons/{name}"].title == lesson.title
    refs = library.open("lessons/two-warm-days")
    assert library.grants(refs) == (refs.source.location,)
    assert refs.to_xarray()["sst"].shape == (18, 96, 192)


def test_a_stale_file_is_not_called_another_shape(tmp_path: Path) -> None:
    """What the file fills is not known, since its references lead nowhere."""
    refs = rx.open_references(lessons.make("it-worked-yesterday", tmp_path)).allowing(str(tmp_path))
    codes = {found.code for found in refs.verify().findings}
    assert "offset" in codes
    assert "shape" not in codes
