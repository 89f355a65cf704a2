from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.states import KeyState
from refexplorer.refset.generated import EVALUATED_KEYS
from tests.helpers.audits import files, many
from tests.helpers.servers import RangeServer

BODY = bytes(1000)


@pytest.fixture
def refs(server: RangeServer, tmp_path: Path) -> rx.ReferenceSet:
    server.files["/good"] = server.files["/short"] = BODY
    server.etags["/good"] = '"v1"'
    server.statuses["/closed"] = 403
    (tmp_path / "local").write_bytes(BODY)
    return rx.open_references(
        {
            "a": [f"{server.url}/good", 0, 1000],
            "b": [f"{server.url}/good", 100, 50],
            "c": [f"{server.url}/short", 0, 10],
            "d": [f"{server.url}/short", 990, 20],
            "e": [f"{server.url}/closed", 0, 1],
            "f": [f"{server.url}/gone"],
            "g": [f"{tmp_path}/local"],
            "h": ["https://host.example/f", 0, 1],
            "i": "inline",
        }
    )


def grants(server: RangeServer, tmp_path: Path) -> list[str]:
    return [server.url, str(tmp_path)]


def test_each_target_is_asked_once_for_its_first_bytes(
    refs: rx.ReferenceSet, server: RangeServer, tmp_path: Path
) -> None:
    checked = refs.allowing(*grants(server, tmp_path)).check_targets()
    assert sorted(server.requests) == ["/closed", "/gone", "/good", "/short"]
    assert set(server.spans) == {"bytes=0-255"}
    found = files(checked)
    good, short = found["good"], found["short"]
    assert (good["state"], good["size"], good["etag"]) == ("found", 1000, '"v1"')
    assert (good["references"], good["end"], good["past_end"]) == (2, 1000, 0)
    assert (short["state"], short["past_end"], short["end"]) == ("found", 1, 1010)
    assert short["message"] == "The range reaches past the end of the file, which has 1,000 bytes."
    assert (found["local"]["state"], found["local"]["size"]) == ("found", 1000)
    assert "T" in (found["local"]["modified"] or "")
    assert found["closed"]["message"].startswith("The server denies access (403); storage_options=")
    assert found["gone"]["message"] == "There is no such file (404)."
    assert (found["f"]["state"], found["f"]["grant"]) == ("not allowed", "https://host.example")


def test_an_audit_says_the_same_of_each_target(
    refs: rx.ReferenceSet, server: RangeServer, tmp_path: Path
) -> None:
    allow = grants(server, tmp_path)
    checked = refs.allowing(*allow).check_targets()
    audited = refs.allowing(*allow).audit(decode="none")
    assert audited.files().equals(checked.files())
    assert audited.findings == checked.findings


def test_nothing_is_asked_unasked(
    refs: rx.ReferenceSet, server: RangeServer, no_sockets: None
) -> None:
    assert {row["state"] for row in files(refs.check_targets()).values()} == {"not allowed"}
    assert str(refs)
    assert refs.summary()
    assert refs.diagnostics is not None
    assert refs.targets()
    assert refs.explain("a")
    assert server.requests == []


def test_causes_in_words() -> None:
    refs = rx.open_references(
        {
            "dns": ["http://nowhere.invalid/f", 0, 1],
            "down": ["http://127.0.0.1:1/f", 0, 1],
            "package": ["nonsense://place/f", 0, 1],
            "nameless": [None, 0, 1],
        }
    )
    allow = ["http://nowhere.invalid", "http://127.0.0.1:1", "nonsense://place"]
    assert refs.allowing(*allow).check_targets().files()["message"].to_pylist() == [
        "The host nowhere.invalid cannot be found; check its name and the network connection.",
        "No connection to 127.0.0.1:1 could be made.",
        "No installed package reads nonsense:// URLs.",
        "The set does not name this target: pass it when you open the set.",
    ]


def test_a_server_without_ranges_is_good_to_know(server: RangeServer) -> None:
    server.files["/f"] = bytes(10**6)
    server.ignores_ranges = True
    refs = rx.open_references({"a": [f"{server.url}/f", 5, 5]})
    row = files(refs.allowing(server.url).check_targets())["f"]
    assert (row["state"], row["size"]) == ("found", 10**6)
    assert "does not support byte ranges" in row["message"]


def test_a_second_check_asks_again_and_says_what_changed(
    refs: rx.ReferenceSet, server: RangeServer, tmp_path: Path
) -> None:
    kept, allow = tmp_path / "kept", grants(server, tmp_path)
    first = files(refs.allowing(*allow).check_targets(results=kept))
    server.statuses.clear()
    server.files["/closed"] = BODY
    second = files(refs.allowing(*allow).check_targets(results=kept, resume=True))
    assert list(first) == list(second)
    assert [name for name, row in second.items() if first[name] != row] == ["closed"]
    assert second["closed"]["state"] == "found"
    server.files["/good"] = BODY + b"more"
    third = refs.allowing(*allow).check_targets(results=kept, resume=True)
    assert files(third)["good"]["state"] == "changed"
    assert files(third)["good"]["message"] == ("It changed since the earlier run.")
    assert "changed" in {each.code for each in third.findings}
    del server.files["/good"]
    fourth = refs.allowing(*allow).check_targets(results=kept, resume=True)
    assert files(fourth)["good"]["state"] == "unreachable"


def test_a_target_that_changed_makes_a_set_stale(server: RangeServer, tmp_path: Path) -> None:
    refs, kept = many(server, 3).allowing(server.url), tmp_path / "kept"
    assert refs.check_targets(results=kept).status == 0
    server.files["/1"] = bytes(5)
    found = refs.check_targets(results=kept, resume=True)
    assert (found.status, found.headline.text) == (1, "is stale: 1 file changed")
    assert refs.check_targets(results=kept, resume=True).status == 0  # that version is kept now


def test_stopping_keeps_what_was_found(server: RangeServer, tmp_path: Path) -> None:
    refs, kept = many(server, 250), tmp_path / "kept"
    server.etags = dict.fromkeys(server.files, '"one"')
    found = refs.allowing(server.url).check_targets(
        results=kept, workers=1, watch=lambda progress: progress.audited < 90
    )
    asked = len(files(found))
    assert 90 <= asked < 250
    assert found.headline.text.startswith(f"not known: {250 - asked} files were not looked at")
    assert found.status == 2
    assert "It was stopped before all files were checked." in str(found)
    assert refs.allowing(server.url).check_targets(results=kept, resume=True).status == 0


def test_the_result_reads_well(refs: rx.ReferenceSet, server: RangeServer, tmp_path: Path) -> None:
    found = refs.allowing(*grants(server, tmp_path)).check_targets()
    lines = str(found).splitlines()
    assert lines[0] == "dict: has errors: 1 file cannot be read"
    assert "Found: 3 of 6 files. Inside their files: 0 of 0 chunks." in str(found)
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count(f"<code>{server.url}/") >= 4
    assert "1.00 kB" in page


def test_text_of_a_set_is_only_shown() -> None:
    found = rx.open_references({"a": ["http://<b>\u202e\x1b", 0, 1]}).check_targets()
    assert not {"\u202e", "\x1b"} & set(str(found) + found._repr_html_())
    assert "<b>\u202e" not in found._repr_html_()


def test_each_target_of_a_gen_item_with_very_many_keys_is_asked(server: RangeServer) -> None:
    server.files |= {f"/{year}.nc": BODY for year in (2000, 2001, 2003)}
    item = {
        "key": "x/{{y}}.{{i}}",
        "url": "{{u}}/{{y}}.nc",
        "offset": "{{i}}",
        "length": "1",
        "dimensions": {"y": [2000, 2001, 2002, 2003], "i": {"stop": 10**9}},
    }
    document = {"version": 1, "templates": {"u": server.url}, "gen": [item]}
    refs = rx.open_references(document)
    found = refs.allowing(server.url).check_targets()
    assert {name: row["state"] for name, row in files(found).items()} == {
        "2000.nc": "found", "2001.nc": "found", "2002.nc": "unreachable", "2003.nc": "found",
    }  # fmt: skip
    row = files(found)["2003.nc"]
    assert (row["size"], row["references"], row["end"]) == (len(BODY), None, None)
    assert len(server.requests) == 4
    assert found.ledger.keys.counts[KeyState.UNLISTED] == 4 * 10**9
    assert "4,000,000,000 generated keys are too many to list." in str(found)
    server.files["/2002.nc"] = BODY
    found = refs.allowing(server.url).check_targets()
    assert found.headline.text == "not known: 4,000,000,000 generated keys were not listed"
    assert found.status == 2


def test_targets_that_are_too_many_are_counted() -> None:
    item = {
        "key": "x/{{i}}.{{j}}",
        "url": "https://host.example/{{i}}",
        "dimensions": {"i": {"stop": 10**6}, "j": {"stop": 50}},
    }
    limits = rx.Limits(audited_references=100)
    refs = rx.open_references({"version": 1, "gen": [item]}, limits=limits)
    found = refs.check_targets(watch=lambda progress: progress.audited < 200)
    assert found.coverage["files"]["total"] == EVALUATED_KEYS
    assert "Up to 800,000 files of theirs were not asked." in str(found)
    assert found.status == 2


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (
            206,
            {"Content-Encoding": "gzip", "Content-Range": "bytes 0-0/9"},
            "Content-Encoding: gzip",
        ),
        (200, {"Content-Encoding": "br"}, "Content-Encoding: br"),
        (200, {"Content-Type": "text/html"}, "Content-Type: text/html"),
        (206, {"Content-Type": "multipart/byteranges"}, "Content-Type: multipart/byteranges"),
        (206, {}, "without a Content-Range"),
        (206, {"Content-Range": "bytes 5-5/9"}, "Content-Range: bytes 5-5/9"),
        (206, {"Content-Range": "bytes 0-8/9"}, "its Content-Range has 9"),
        (416, {"Content-Range": "bytes */9"}, "The server refuses this byte range (416)"),
    ],
)
def test_an_answer_that_is_not_of_the_file_is_not_good(
    server: RangeServer, status: int, headers: dict[str, str], said: str
) -> None:
    server.answers["/f"] = status, headers, b"x"
    server.redirects["/moved"] = "/f"
    refs = rx.open_references({"a": [f"{server.url}/f", 0, 1], "b": [f"{server.url}/moved"]})
    found = files(refs.allowing(server.url).check_targets())
    assert [row["state"] for row in found.values()] == ["unreachable", "unreachable"]
    assert all(said in row["message"] for row in found.values())


def test_a_data_file_was_opened_and_its_chunks_were_not_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["sst"] = np.arange(12.0)
    report = rx.open_references(tmp_path / "a.h5").check()
    assert report.headline.text == "no errors in its references; its chunks were not read"
    assert (
        "Looked at: the references made from the file, whose grids have 1 chunk. No chunk was read."
        in str(report)
    )
