from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import refexplorer as rx
from refexplorer.checks.look.audit_states import TargetState
from refexplorer.core.errors import SourceError
from refexplorer.refset.contents import internals
from refexplorer.refset.targets import TargetIndex
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
    found = {
        (check.url or "").rpartition("/")[2]: check
        for check in refs.allowing(*grants(server, tmp_path)).check_targets()
    }
    assert sorted(server.requests) == ["/closed", "/gone", "/good", "/short"]
    assert set(server.spans) == {"bytes=0-255"}
    good, short = found["good"], found["short"]
    assert (good.state, good.size, good.etag, good.references) == ("good", 1000, '"v1"', 2)
    assert (short.state, short.past_end, short.key, short.end) == ("short", 1, "d", 1010)
    assert short.message == "1 range reaches past its end, such as that of d."
    assert (found["local"].state, found["local"].size) == ("good", 1000)
    assert "T" in (found["local"].modified or "")
    assert found["closed"].message is not None
    assert found["closed"].message.startswith("The server denies access (403); storage_options=")
    assert found["gone"].message == "There is no such file (404)."
    assert (found["f"].state, found["f"].grant) == ("not allowed", "https://host.example")


def test_an_audit_says_the_same_of_each_target(
    refs: rx.ReferenceSet, server: RangeServer, tmp_path: Path
) -> None:
    allow = grants(server, tmp_path)
    checked = refs.allowing(*allow).check_targets()
    audited = refs.allowing(*allow).audit(decode="none").targets().to_pylist()
    columns = ("target", "state", "references", "target_size", "etag", "modified")
    assert [tuple(row[name] for name in columns) for row in audited] == [
        (c.url, c.state, c.references, c.size, c.etag, c.modified) for c in checked
    ]
    not_reached = {"unreachable", "not allowed"}
    assert {row["target"]: row["message"] for row in audited if row["state"] in not_reached} == {
        c.url: c.message for c in checked if c.state in not_reached
    }


def test_nothing_is_asked_unasked(
    refs: rx.ReferenceSet, server: RangeServer, no_sockets: None
) -> None:
    states = {check.state for check in refs.check_targets()}
    assert states == {TargetState.FORBIDDEN}
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
    said = [check.message for check in refs.allowing(*allow).check_targets()]
    assert said == [
        "The host nowhere.invalid cannot be found.",
        "No connection to 127.0.0.1:1 could be made.",
        "No installed package reads nonsense:// URLs.",
        "The set does not name this target: it has to be given when the set is opened.",
    ]


def test_a_server_without_ranges_is_good_to_know(server: RangeServer) -> None:
    server.files["/f"] = bytes(10**6)
    server.ignores_ranges = True
    refs = rx.open_references({"a": [f"{server.url}/f", 5, 5]})
    (check,) = refs.allowing(server.url).check_targets()
    assert (check.state, check.size) == ("good", 10**6)
    assert "does not support byte ranges" in (check.message or "")


def test_a_second_check_asks_again_and_says_what_changed(
    refs: rx.ReferenceSet, server: RangeServer, tmp_path: Path
) -> None:
    journal = tmp_path / "check.jsonl"
    allow = grants(server, tmp_path)
    first = refs.allowing(*allow).check_targets(resume=journal)
    with journal.open("ab") as file:
        file.write(b'{"url": "http://ha')  # the machine went down
    server.statuses.clear()
    server.files["/closed"] = BODY
    second = refs.allowing(*allow).check_targets(resume=journal)
    assert [check.url for check in first] == [check.url for check in second]
    changed = [check.state for old, check in zip(first, second, strict=True) if old != check]
    assert changed == [TargetState.GOOD]
    urls = (check.url or "" for check in second if check.state == "good")
    url = next(url for url in urls if "://" in url)
    server.files[url.removeprefix(server.url)] = BODY + b"more"
    third = {check.url: check for check in refs.allowing(*allow).check_targets(resume=journal)}
    assert third[url].message == "It changed since the earlier check whose answers are kept."
    del server.files[url.removeprefix(server.url)]
    fourth = {check.url: check for check in refs.allowing(*allow).check_targets(resume=journal)}
    assert fourth[url].state == "unreachable"


def test_other_files_are_not_written_to(refs: rx.ReferenceSet, tmp_path: Path) -> None:
    for content in ("{}", '{"version": 1}\n', "text\n\n"):
        (tmp_path / "mine").write_text(content)
        with pytest.raises(SourceError, match="was not written by a check of these targets"):
            refs.check_targets(resume=tmp_path / "mine")
        assert (tmp_path / "mine").read_text() == content
    with pytest.raises(SourceError, match="cannot be used to resume"):
        refs.check_targets(resume=tmp_path / "nowhere" / "file")


def test_stopping_keeps_what_was_found(server: RangeServer, tmp_path: Path) -> None:
    server.files = {f"/{n}": BODY for n in range(40)}
    server.stalled = {f"/{n}" for n in range(20, 40)}
    refs = rx.open_references({f"x/{n}": [f"{server.url}/{n}", 0, 1] for n in range(40)})
    journal = tmp_path / "check.jsonl"
    found = refs.allowing(server.url).check_targets(
        resume=journal, checked=lambda done, of: done < 20, concurrency=4
    )
    assert (len(found), found.total, found.good) == (20, 40, False)
    assert len(journal.read_text().splitlines()) == 20
    assert "20 not checked" in str(found)


def test_the_result_reads_well(refs: rx.ReferenceSet, server: RangeServer, tmp_path: Path) -> None:
    found = refs.allowing(*grants(server, tmp_path)).check_targets()
    lines = str(found).splitlines()
    assert lines[0] == (
        "dict, 6 targets: 1 with all ranges inside the file, "
        "1 that answered, referenced as whole files, "
        "1 shorter than a range of it, 2 that cannot be read, "
        "1 that may not be read yet. Only sizes were compared; no data was read or decoded."
    )
    assert lines[-1].endswith(("with all ranges inside the file", "referenced as whole files"))
    assert "good" not in str(found)[len(lines[0]) :].replace("/good", "")
    assert not found.good
    page = found._repr_html_()
    assert page.count("<tr>") == 7
    with pytest.raises(dataclasses.FrozenInstanceError):
        found[0].size = 3  # type: ignore[misc]


def test_text_of_a_set_is_only_shown() -> None:
    found = rx.open_references({"a": ["http://<b>\u202e\x1b", 0, 1]}).check_targets()
    assert "&lt;b&gt;" in found._repr_html_()
    assert not {"\u202e", "\x1b"} & set(str(found) + found._repr_html_())


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
    checks = refs.allowing(server.url).check_targets()
    found = {(check.url or "")[-7:-3]: check for check in checks}
    assert {year: check.state for year, check in found.items()} == {
        "2000": "short",
        "2001": "good",
        "2002": "unreachable",
        "2003": "good",
    }
    assert found["2003"].size == len(BODY)
    assert found["2003"].references == 10**9
    assert len(server.requests) == checks.total == 4
    assert checks.summary.endswith(
        "3,999,800,000 generated keys were too many to be evaluated one by one; "
        "their targets were checked."
    )


def test_targets_that_are_too_many_are_counted() -> None:
    item = {
        "key": "x/{{i}}.{{j}}",
        "url": "https://host.example/{{i}}",
        "dimensions": {"i": {"stop": 10**6}, "j": {"stop": 50}},
    }
    refs = rx.open_references({"version": 1, "gen": [item]})
    inside = internals(refs)
    inside.target_index = TargetIndex(inside.opened, evaluated_keys=100)
    checks = refs.check_targets()
    assert len(checks) == checks.total == 100
    assert checks.summary.endswith("as were up to 999,900 further targets of theirs.")


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
    checks = refs.allowing(server.url).check_targets()
    assert [check.state for check in checks] == ["unreachable", "unreachable"]
    assert all(said in (check.message or "") for check in checks)
    assert not checks.good
