"""The cells of each lesson run, and what the lesson says of its set is so."""

from __future__ import annotations

import builtins
import gc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from refexplorer.demo.lessons import LESSONS, STEPS
from tests.notebooks.running import FOLDER, code_cells, lesson_text, read

pytest.importorskip("icechunk")
pytest.importorskip("virtualizarr")


class Claim(NamedTuple):
    """What a lesson says: codes of the fault, and which tool notices it."""

    codes: set[str]
    notices: frozenset[str] = frozenset()


CLAIMS = {
    "lesson_1_odd_day": Claim({"offset"}),
    "lesson_2_cool_august": Claim({"misplaced"}),
    "lesson_3_warm_september": Claim({"scale_factor"}),
    "lesson_4_two_warm_days": Claim({"no-reference"}),
    "lesson_5_it_worked_yesterday": Claim({"offset", "unreadable"}, frozenset({"Icechunk"})),
}
TOOLS = ["kerchunk", "VirtualiZarr", "Icechunk"]


Run = Callable[[str], dict[str, Any]]


@pytest.fixture
def run() -> Iterator[Run]:
    """Runs the cells of a notebook, and returns its names; plots are drawn and not shown."""
    ran = []

    def run(name: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__builtins__": builtins}
        ran.append(names)
        for cell in code_cells(read(FOLDER / f"{name}.ipynb")):
            exec(compile("".join(cell["source"]), name, "exec"), names)
        return names

    # An object of h5py that is collected in the thread of Zarr's loop waits for the lock of h5py,
    # which kerchunk holds in `visititems` while it waits for that loop.
    gc.collect()
    gc.disable()
    try:
        with mpl.rc_context({"backend": "agg"}):
            yield run
    finally:
        gc.enable()
    plt.close("all")
    for names in ran:
        names["temporary"].cleanup()


pytestmark = [
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def test_each_has_the_text_that_the_page_shows() -> None:
    found = sorted(FOLDER.glob("lesson_*.ipynb"))
    assert [path.stem for path in found] == [*CLAIMS, "lesson_6_slow_map"]
    for path, (name, lesson) in zip(found, LESSONS.items(), strict=True):
        cells = read(path)["cells"]
        assert "".join(cells[0]["source"]).startswith(f"# {lesson.title}\n")
        shared = [cell["metadata"]["lesson"] for cell in cells if "lesson" in cell["metadata"]]
        assert shared == [f"{name}.{field}" for field in STEPS]
        for cell in cells:
            told = lesson_text(cell)
            assert told in (None, cell["source"]), "run `python -m tests.notebooks.save`"


@pytest.mark.parametrize("name", CLAIMS)
def test_a_value_is_wrong_the_fault_is_found_and_the_value_is_right(name: str, run: Run) -> None:
    names, claim = run(name), CLAIMS[name]
    truth, wrong, right = (names[each] for each in ("truth", "wrong", "right"))
    assert not np.isclose(wrong, truth)
    assert claim.codes <= names["codes"]
    assert np.isclose(right, truth, atol=1e-4)
    said = list(LESSONS.values())[[*CLAIMS].index(name)].steps["Other tools"]
    assert f"{truth:.2f}" in said
    assert np.isnan(wrong) or f"{wrong:.2f}" in said
    tools = names["tools"]
    assert [*tools] == TOOLS
    for tool, value in tools.items():
        if tool in claim.notices:
            assert "has changed" in value
        else:
            assert np.isclose(value, wrong, equal_nan=True)


def test_the_letters_have_the_numbers_of_the_lessons(run: Run) -> None:
    names = run("lesson_1_odd_day")
    letter = "".join(
        "".join(cell["source"]) for cell in read(FOLDER / "lesson_1_odd_day.ipynb")["cells"]
    )
    for refs in (names["refs"], names["repaired"].references):
        assert f"byte {refs['wind/3.0.0'].offset:,}" in letter
    assert str(names["dataset"].time.values[3])[:10] == "2025-07-18"


def test_joins_of_the_second_lesson(run: Run) -> None:
    names = run("lesson_2_cool_august")
    assert names["kerchunk_months"].tolist() == sorted(names["kerchunk_months"])
    assert names["virtualizarr_months"].tolist() == [7] * 6 + [9] * 6 + [8] * 6


def test_joins_of_the_third_lesson(run: Run) -> None:
    names = run("lesson_3_warm_september")
    assert np.isclose(names["joined_by_kerchunk"], names["wrong"])
    assert names["asked"].startswith("refused")
    assert "scale_factor" in str(names["before"])


def test_the_sixth_lesson_counts_requests(run: Run) -> None:
    names = run("lesson_6_slow_map")
    assert (names["opening_before"], names["map_before"]) == (24, 24)
    assert (names["opening_after"], names["map_after"]) == (0, 0)
    assert {"inline-coordinates", "small-chunks"} <= names["codes"]
    assert np.array_equal(names["slow"], names["truth"])
    assert np.array_equal(names["fast"], names["truth"])
    tools = names["tools"]
    assert [*tools] == TOOLS
    assert {before for before, _ in tools.values()} == {24}
    assert [after for _, after in tools.values()] == [0, 0, 1]


def test_hdf5_against_zarr_does_not_contradict_its_table() -> None:
    """Its sentences are printed from the numbers of the table; these are the numbers."""
    cells = code_cells(read(FOLDER / "hdf5_against_zarr.ipynb"))
    (table,) = [cell for cell in cells if "results = pd.DataFrame" in "".join(cell["source"])]
    lines = "".join("".join(output.get("text", "")) for output in table["outputs"]).splitlines()
    requests = {line.split()[0]: [*map(int, line.split()[1:])] for line in lines[3:7]}
    assert requests["files"][0] >= 24 > 3 > requests["references"][0]
    assert requests["references"][1:] == requests["Zarr"][1:] == [9, 90, 24]
    assert requests["merged"][1:] == [1, 10, 24]


def test_the_tour_draws_verifies_and_counts() -> None:
    cells = code_cells(read(FOLDER / "tour.ipynb"))
    drawn = [cell for cell in cells if ".plot(" in "".join(cell["source"])]
    assert drawn
    for cell in drawn:
        assert any("image/png" in output["data"] for output in cell["outputs"])
    texts = ["".join(cell["source"]) for cell in cells]
    assert any(".verify(" in text for text in texts)
    assert any(".advise(" in text for text in texts)
