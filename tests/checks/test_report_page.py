"""The page of a report: when its files are, what is wrong with them, and small for any set."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

import refexplorer as rx
from refexplorer.checks.look.targets import TARGETS
from refexplorer.checks.report_html import document, of_targets


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
def test_files_stand_at_their_dates(verb: str, source: Path, tmp_path: Path) -> None:
    report = getattr(rx.open_references(source), verb)()
    page = tmp_path / "report.html"
    report.to_html(page)
    text = page.read_text()
    found = re.search(r"<svg.*?</svg>", text)
    assert found is not None
    bars = ElementTree.fromstring(found[0])
    assert "50 files from 2024-01-01 to 2024-02-29, 2 bad; " in bars.attrib["aria-label"]
    titles = [str(bar.findtext("title")) for bar in bars]
    bad = [title for title in titles if " 1 bad" in title]
    assert [title[:10] for title in bad] == ["2024-01-03", "2024-02-19"]
    empty = [title for title in titles if title.endswith("no files")]
    assert empty[0][:10] <= "2024-01-21" < "2024-01-30" <= empty[-1][14:24]
    assert rx.explain_code("range-past-end").mend.split(".")[0] in text
    assert re.search(r"Written 20\d\d-\d\d-\d\d \d\d:\d\d UTC\.", text)


def test_names_without_dates_have_no_strip(tmp_path: Path, demo: Path) -> None:
    rx.open_references(demo / "broken.json").check().to_html(tmp_path / "a.html")
    assert "<svg" not in (tmp_path / "a.html").read_text()


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
    page = document(report, (), targets, of_targets(targets.slice(0, 50_000)))
    assert "50,000 files from 1990-01-01" in page  # bars are as many for any number of files
    assert len(page.encode()) < 200_000
