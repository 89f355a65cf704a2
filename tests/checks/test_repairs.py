"""`repair` of each planted fault: what is right before is right after, and is not cut off.

The cells of a set are decoded without the product and held against those that h5py reads. With
fewer examples (``--quick``) a quarter of the faults are tried in sets that hold chunks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from tests.helpers.cells import Cells, cells_of_files, cells_of_set, inlined, right
from tests.helpers.commands import Run, run
from tests.helpers.planted import FAULTS, Case, Fault

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of eccodes and cfgrib
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
DECODED = {"joined", "of kerchunk"}
"""Sets whose cells are compared."""
HELD: Mapping[str, Callable[[list[str], Case], list[str]]] = {
    "mixed": lambda keys, case: keys[::2],
    "inlined": lambda keys, case: [key for key in keys if case.refs[key][0] != "f0.nc"],
}
"""Chunks that the set holds itself: every second one, those of all files but the first."""
WITH_CELLS = [name for name, fault in FAULTS.items() if fault.of in DECODED]


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_mended_or_said_to_be_left(case: Callable[[str], Case], name: str) -> None:
    fault = FAULTS[name]
    mine = case(fault.of)
    fault.plant(mine)
    mine.write()
    before = cells(mine.source) if fault.of in DECODED else {}
    ran, target = repaired(mine)
    judge(ran, target, before, fault, is_compared=True)
    if ran.status == 0:
        if fault.array is None:
            assert fault.keys[0] in json.loads(target.read_text())
        again = run("verify", target)
        assert again.status == 0
        assert again.out.splitlines()[0].startswith("repaired.json: the same as its files")
    else:
        assert not fault.mends
        assert ran.status == 1
        named = fault.array or fault.keys[0].rpartition("/")[0]
        assert f"`{named}`" in ran.out or (fault.file or "-") in ran.out


@pytest.mark.parametrize(
    ("form", "name"),
    [*product(HELD, WITH_CELLS[:: 1 if settings().max_examples > 20 else 4])],
)
def test_no_chunk_that_the_set_holds_is_harmed(
    case: Callable[[str], Case], form: str, name: str
) -> None:
    fault = FAULTS[name]
    mine = case(fault.of)
    fault.plant(mine)
    keys = sorted(key for key, ref in mine.refs.items() if isinstance(ref, list))
    inlined(mine.refs, HELD[form](keys, mine), mine.folder)
    mine.write()
    before = cells(mine.source)
    judge(*repaired(mine), before, fault, is_compared=form == "mixed")


def repaired(mine: Case) -> tuple[Run, Path]:
    target = mine.folder / "repaired.json"
    return run("repair", mine.source, "--to", "v0", "-o", target), target


def cells(source: Path) -> dict[str, Cells]:
    document = json.loads(source.read_text())
    return cells_of_set(document.get("refs", document), source.parent)


def judge(
    ran: Run, target: Path, before: dict[str, Cells], fault: Fault, is_compared: bool
) -> None:
    """Hold the cells before against those after; where nothing was written, all are kept.

    Status 0 says that all is as in the files, where references lead to all of them.
    """
    assert not ran.status or "written" in ran.err or target.exists()
    if not target.exists() or fault.of not in DECODED:
        return
    after, files = cells(target), cells_of_files(target.parent)
    for array, theirs in files.items():
        was, now = right(before.get(array), theirs), right(after.get(array), theirs)
        harmed = int(np.sum(was & ~now))
        assert harmed == 0, f"{harmed} of {was.sum()} cells of {array} that were right"
        is_same = np.all(now | ~theirs.readable)
        assert ran.status or is_same or not is_compared, f"{array} is not as its files"
    for array in set(before) - {fault.array}:
        was, now = before[array].readable, np.full(before[array].readable.shape, False)
        both = tuple(map(slice, map(min, was.shape, after[array].readable.shape)))
        now[both] = after[array].readable[both]
        assert not np.any(was & ~now), f"{array} could be read"
