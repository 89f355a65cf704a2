"""The page of a report: what is wrong with its files, and small for any set."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import refexplorer as rx
from refexplorer.checks.look.targets import TARGETS
from refexplorer.checks.report_html import document


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A set of a file for each of 60 days but ten, of which two are too short."""
    days = [n for n in range(60) if not 20 <= n < 30]
    array = {"zarr_format": 2, "shape": [80 * len(days)], "chunks": [80], "dtype": "|u1",
             "order": "C", "compressor": None, "filters": None, "fill_value": 0}  # fmt: skip
    refs: dict[str, object] = {".zgroup": {"zarr_format": 2}, "x/.zarray": array}
    for number, day in enumerate(days):
        path = tmp_path / f"d_{np.datetime64('2024-01-01') + day}.bin"
        path.write_bytes(bytes(40 if day in (3, 50) else 80))
        refs[f"x/{number}"] = [path.name, 0, 80]
    (tmp_path / "set.json").write_text(json.dumps(refs))
    return tmp_path / "set.json"


@pytest.mark.parametrize("verb", ["check_targets", "verify"])
def test_a_page_says_what_to_do_and_when_it_was_written(
    verb: str, source: Path, tmp_path: Path
) -> None:
    report = getattr(rx.open_references(source), verb)()
    page = tmp_path / "report.html"
    report.to_html(page)
    text = page.read_text()
    assert "d_2024-01-04.bin" in text
    assert rx.explain_code("range-past-end").mend.split(".")[0] in text
    assert re.search(r"Written 20\d\d-\d\d-\d\d \d\d:\d\d UTC\.", text)


def test_a_page_of_a_million_targets_is_small(source: Path) -> None:
    report = rx.open_references(source).check_targets()
    count = 10**6
    days = np.datetime64("1990-01-01") + np.arange(count) % 12_000
    names = np.char.add("s3://bucket/" + "long/" * 20, days.astype(str))
    columns = {
        name: pa.nulls(count, kind) for name, kind in zip(TARGETS.names, TARGETS.types, strict=True)
    }
    state = np.where(np.arange(count) % 7 == 0, "unreachable", "found")
    columns |= {"target": pa.array(names), "state": pa.array(state)}
    columns |= {name: pa.array(np.zeros(count, np.int64)) for name in ("past_end", "failed")}
    targets = pa.table(columns)
    report.findings *= 10_000
    page = document(report, (), targets)
    assert len(page.encode()) < 200_000
