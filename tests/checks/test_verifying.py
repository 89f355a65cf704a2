"""How a set is verified: threads, clusters, results that are resumed, the network, the result."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest

import refexplorer as rx
from refexplorer.checks.sorting import PlanSizes
from tests.helpers.servers import RangeServer, range_server
from tests.helpers.verifying import Changed, joined, verified, verified_in_parts, write_files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_files(tmp_path_factory.mktemp("files"), {2: {"scale_factor": 0.2}})


@pytest.fixture(scope="module")
def document(files: list[Path]) -> dict[str, Any]:
    mine = Changed(joined(files, 100))
    mine.refs["foo/0.0.0"] = mine.refs["foo/0.0.1"]
    return mine.document


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


def said(found: rx.types.Report) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(json.dumps(found.to_dict()))
    return told


def test_parts_of_a_file_find_what_the_whole_file_does(
    files: list[Path], document: dict[str, Any]
) -> None:
    """Very many references to a file are cut: no chunk is missing since another part has it."""
    whole = verified_in_parts(document, files[0].parent)
    cut = verified_in_parts(document, files[0].parent, sizes=PlanSizes(part_cost=5))
    assert len(list(cut.tables())) > len(list(whole.tables()))
    assert {(f.code, f.array, f.files) for f in cut.findings} == {
        (f.code, f.array, f.files) for f in whole.findings
    }
    assert cut.arrays == whole.arrays
    assert cut.ledger.files.counts == whole.ledger.files.counts


def test_it_is_stopped_and_resumed(
    files: list[Path], document: dict[str, Any], tmp_path: Path
) -> None:
    kept = tmp_path / "kept"

    def watch(progress: rx.types.AuditProgress) -> bool:
        return progress.audited < 20

    stopped = verified_in_parts(document, files[0].parent, results=kept, workers=1, watch=watch)
    assert not stopped.good
    assert stopped.headline.kind in (rx.types.Claim.UNKNOWN, rx.types.Claim.DIFFERS)
    assert "It was stopped before all files were checked." in stopped.summary
    whole = verified_in_parts(document, files[0].parent, results=kept, resume=True)
    assert said(whole) == said(verified(document, files[0].parent))


def test_results_of_another_set_are_not_used(files: list[Path], tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    document = joined(files[:2])
    assert verified(document, files[0].parent, results=kept).good
    mine = Changed(document)
    mine.metadata("foo/.zattrs", units="degC")
    found = verified(mine.document, files[0].parent, results=kept, resume=True)
    assert [each.code for each in found.findings] == ["units"]


@pytest.mark.parametrize("change", ["cut", "gone"])
def test_results_of_files_that_changed_are_not_used(change: str, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    files = write_files(tmp_path / "files")
    kept, document = tmp_path / "kept", joined(files[:2])
    assert verified(document, files[0].parent, results=kept).good
    assert verified(document, files[0].parent, results=kept, resume=True).good
    if change == "gone":
        files[1].unlink()
    else:
        os.truncate(files[1], files[1].stat().st_size - 8)
    found = verified(document, files[0].parent, results=kept, resume=True)
    assert found.has_errors
    assert said(found) == said(verified(document, files[0].parent))


def test_metadata_come_over_http_and_values_only_if_wanted(
    server: RangeServer, files: list[Path]
) -> None:
    document = json.dumps(joined(files[:2]))
    for path in files[:2]:
        server.files[f"/{path.name}"] = path.read_bytes()
        document = document.replace(str(path), f"{server.url}/{path.name}")
    refs = rx.open_references(json.loads(document))
    found = refs.verify()
    assert server.requests == []
    assert (found.good, found.counts.grants) == (False, (server.url,))
    found = refs.allowing(server.url).verify(values="all")
    assert found.good, str(found)
    assert {path.partition("?")[0] for path in server.requests} == {f"/{p.name}" for p in files[:2]}
    server.statuses[f"/{files[1].name}"] = 404
    found = refs.allowing(server.url).verify()
    assert not found.good
    assert found.ledger.all_counts()[rx.types.LedgerState.UNREACHABLE] > 0
    assert list(found.counts.failures) == [f"{server.url}/{files[1].name}"]


HOLDING = """
import sys, threading
import refexplorer as rx
from h5py._objects import phil

refs, url = rx.open_references(sys.argv[1]), sys.argv[2]
held, done = threading.Event(), threading.Event()

def hold():
    with phil:
        held.set()
        done.wait()

threading.Thread(target=hold).start()
held.wait()
print(refs.allowing(url).verify(values="sample").good)
done.set()
"""


@pytest.mark.child
def test_verify_never_waits_for_the_lock_of_h5py(
    server: RangeServer, files: list[Path], tmp_path: Path
) -> None:
    """Who held it while a server answers could stand still with who collects garbage of h5py."""
    document = json.dumps(joined(files[:1])).replace(str(files[0]), f"{server.url}/f")
    server.files["/f"] = files[0].read_bytes()
    (tmp_path / "set.json").write_text(document)
    command = [sys.executable, "-c", HOLDING, str(tmp_path / "set.json"), server.url]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.stdout == "True\n", ran.stderr


def test_the_result(files: list[Path], document: dict[str, Any], tmp_path: Path) -> None:
    found = verified(document, files[0].parent)
    assert str(found).startswith("dict: differs from its files\n")
    assert "\n  Read: 3 of 3 files. At the right position: " in str(found)
    assert "scale_factor 0.2" in found._repr_html_()
    assert "<script" not in found._repr_html_()
    assert verified(document, files[0].parent)._repr_html_() == found._repr_html_()
    found.to_json(tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text()) == said(found)
    found.to_parquet(tmp_path / "found.parquet")
    rows = pq.read_table(tmp_path / "found.parquet").to_pylist()
    (odd,) = [r for r in rows if r["array"] == "foo" and (r["target"] or "").endswith("2.nc")]
    assert (odd["state"], odd["references"], odd["differs"]) == ("differs", 8, 8)
    assert odd["start"] == [12, 0, 0]
    assert [each["cause"] for each in odd["findings"]] == ["scale_factor"]
    assert found.files().num_rows == len(rows)


def test_values_must_be_one_of_three(files: list[Path], document: dict[str, Any]) -> None:
    with pytest.raises(rx.RefexplorerError, match="'none', 'sample' or 'all', not 'some'"):
        verified(document, files[0].parent, values="some")


def test_the_page(files: list[Path], document: dict[str, Any], tmp_path: Path) -> None:
    mine = Changed(document)
    lost = tmp_path / "<b>lost.nc"
    mine.refs["bar/0.0.0"][0] = str(lost)
    refs = rx.open_references(mine.document)
    found = refs.allowing(str(files[0].parent), str(tmp_path)).verify()
    found.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r"<script|<b>lost|https?://|<link|<img", page)
    assert "color-scheme: light dark" in page
    differs, _, rest = page.partition("<b>Findings</b>")[2].partition("<b>Arrays</b>")
    arrays, _, files_part = rest.partition("<b>Files that are not the same</b>")
    assert "<code>scale_factor</code>" in differs
    assert rx.explain_code("scale_factor").cause in html.unescape(differs)
    assert f"<li><code>{files[2]}</code></li>" in differs
    assert "<li><code>foo/0.0.0</code></li>" in differs
    assert "1 unreachable" in arrays
    assert "&lt;b&gt;lost.nc" in files_part
    assert "scale_factor 0.2, the set says 0.1" in files_part
    assert str(files[1]) not in files_part
    good = verified(joined(files[:2]), files[0].parent)
    good.to_html(tmp_path / "good.html")
    page = (tmp_path / "good.html").read_text()
    assert "the same as its files" in page
    assert "What differs" not in page
    assert "Files that are not the same" not in page


def test_a_set_that_refers_to_no_file_is_good() -> None:
    """Nothing is left that could be compared, which is another thing than files of no format."""
    array = {
        "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "compressor": None,
        "filters": None, "order": "C", "fill_value": None,
    }  # fmt: skip
    refs: dict[str, Any] = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(array)}
    refs["x/0"] = "base64:AQAAAAIAAAA="
    found = rx.open_references(refs).verify()
    assert (found.good, found.has_errors, found.findings) == (True, False, ())
    assert found.headline.text == "all values are inline: it refers to no file"
    refs["x/0"] = [None, 0, 8]
    assert not rx.open_references(refs).verify().good


def test_chunks_of_a_record_file_that_cannot_be_read_are_lost(tmp_path: Path) -> None:
    (tmp_path / "f.bin").write_bytes(bytes(16))
    array = {"zarr_format": 2, "shape": [4], "chunks": [1], "dtype": "<i4", "compressor": None,
             "filters": None, "order": "C", "fill_value": 0}  # fmt: skip
    chunks = {f"x/{n}": [str(tmp_path / "f.bin"), 4 * n, 4] for n in range(4)}
    refs = rx.open_references({".zgroup": '{"zarr_format": 2}', "x/.zarray": array} | chunks)
    refs.to_parquet(tmp_path / "set.parq", record_size=2)
    (tmp_path / "set.parq" / "x" / "refs.1.parq").write_text("<html>")
    found = verified(tmp_path / "set.parq", tmp_path)
    assert found.status == 1
    assert found.chunks("x").tolist()[2:] == [rx.types.LedgerState.LOST_RECORDS] * 2
    mine = next(each for each in found.findings if each.code == "parquet-unreadable")
    assert (mine.array, mine.reference_count) == ("x", 2)
    assert "x/refs.1.parq" in mine.message


@pytest.mark.parametrize(
    ("status", "span", "code", "verdict"),
    [
        (503, None, "unreachable", (1, "has errors")),
        (206, "bytes 0-31999/{size}", "unreachable", (1, "has errors")),
        (206, "bytes {span}/99999999", "changed", (1, "is stale: 1 file changed")),
        (401, None, None, (2, "not known: 1 chunk was not compared")),
    ],
)
def test_a_server_that_fails_between_metadata_and_values_is_not_a_damaged_file(
    status: int,
    span: str | None,
    code: str | None,
    verdict: Any,
    server: RangeServer,
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", data=np.arange(4000.0))
        start, size = data.id.get_offset(), data.nbytes
    body = path.read_bytes()
    server.files["/a.h5"] = body
    meta = {"zarr_format": 2, "shape": [4000], "chunks": [4000], "dtype": "<f8", "order": "C",
            "compressor": None, "filters": None, "fill_value": None}  # fmt: skip
    refs = {".zgroup": {"zarr_format": 2}, "x/.zarray": meta, "x/.zattrs": {}}
    refs |= {"x/0": [f"{server.url}/a.h5", start, size]}
    names = f"{start}-{start + size - 1}"
    headers = {} if span is None else {"Content-Range": span.format(size=len(body), span=names)}
    server.answers[f"/a.h5 bytes={names}"] = (status, headers, body[start : start + size])
    found = rx.open_references(refs).allowing(server.url).verify(values="all")
    assert (found.status, found.headline.text) == verdict
    assert [each.code for each in found.findings] == ([] if code is None else [code])
    assert all("1 file " in str(each.message) for each in found.findings)
    assert "damaged" not in str(found)
