"""The table of the benchmarks says what was run, how long it took and how much that varied."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.benchmarks.__main__ import collected
from tests.benchmarks.tables import TABLES, put


@pytest.mark.child
def test_a_line_has_both_times_of_both_sides_with_their_ranges() -> None:
    command = [sys.executable, "-m", "tests.benchmarks", "--only", "open V0, first level"]
    ran = subprocess.run(
        [*command, "--keys", "1000", "--runs", "2"], check=True, capture_output=True, text=True
    )
    where, _, head, _, line = ran.stdout.splitlines()
    assert "ujson" in where
    assert "load" in where
    cells = dict(zip(head.split(" | "), line.split(" | "), strict=True))
    assert cells["equal |"] == "yes |"
    assert cells["peer: CPU"].startswith("open_fsspec ")
    assert line.count(" to ") == 4, "a range for CPU and wall time of each side"
    assert line.count(" times") >= 3


def test_the_large_cases_are_collected_from_every_module() -> None:
    large = [case for case in collected(True, "") if case.keys >= 10**7]
    assert {case.ours.__module__.rpartition(".")[2] for case in large} >= {"opening", "parquet"}


def test_each_table_of_the_documentation_has_one_place_in_its_page() -> None:
    for name, table in TABLES.items():
        text = table.page.read_text()
        assert f"<!-- end of {name} -->" in put(text, name, "| a table |")
        assert "Measured on 20" in text.partition(f"<!-- {name} -->")[2].partition("<!-- end")[0]
