"""Each fault that is planted in a sound set is an error of `verify`: array, key and file named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.helpers.commands import run
from tests.helpers.planted import FAULTS, Case, unnamed

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of eccodes and cfgrib
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def test_there_are_many() -> None:
    assert len(FAULTS) >= 76


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_found(case: Callable[[str], Case], name: str) -> None:
    fault = FAULTS[name]
    mine = case(fault.of)
    fault.plant(mine)
    mine.write()
    text, data = run("verify", mine.source), run("verify", mine.source, "--json")
    assert (text.status, text.err) == (1, "")
    assert data.status == 1
    assert unnamed(fault, text, data) == []
