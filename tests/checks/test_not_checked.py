"""What an audit and a check of targets say that they did, and did not do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from refexplorer.checks.render.audit_report import Audit
from tests.cases.sizes import PAST, QUARTERS
from tests.helpers.audits import ARRAY, rows
from tests.helpers.servers import RangeServer

VALUES = "whether values and metadata equal those of the files"


@pytest.fixture
def refs(server: RangeServer) -> rx.ReferenceSet:
    """Have an array of ten chunks in one file, and nothing wrong with them."""
    server.files["/f"] = bytes(40)
    chunks = {f"x/{n}": [f"{server.url}/f", 4 * n, 4] for n in range(10)}
    return rx.open_references({"x/.zarray": json.dumps(ARRAY), **chunks})


def audited(refs: rx.ReferenceSet, server: RangeServer, decode: int | str) -> Audit:
    return refs.allowing(server.url).audit(decode=decode)


@pytest.mark.parametrize(
    ("decode", "verdict"),
    [
        ("all", "ranges lie inside their files and all 10 chunks decode"),
        (1, "ranges lie inside their files and all {} sampled chunks decode"),
        ("none", "ranges lie inside their files"),
    ],
)
def test_the_verdict_is_what_was_checked(
    refs: rx.ReferenceSet, server: RangeServer, decode: int | str, verdict: str
) -> None:
    audit = audited(refs, server, decode)
    decoded, left = (audit.summary.states.get(state, 0) for state in ("decoded", "good"))
    undecoded = [f"whether {left} references can be decoded"] if left else []
    verdict = verdict.format(decoded)
    assert (decoded + left, decode == "all") == (10, not left)
    assert (audit.good, audit.summary.verdict) == (True, verdict)
    assert audit.summary.not_checked == (*undecoded, VALUES)
    for face in (str(audit), audit._repr_html_()):
        assert verdict in face
        assert f"Not checked: {'; '.join([*undecoded, VALUES])}." in face
        assert "as referenced" not in face
    found = audit.to_dict()
    assert (found["good"], found["verdict"]) == (True, verdict)
    assert found["not_checked"] == (*undecoded, VALUES)


def test_the_page_says_what_was_not_checked(
    refs: rx.ReferenceSet, server: RangeServer, tmp_path: Path
) -> None:
    audited(refs, server, "none").to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "10 not decoded</td>" in page
    assert f"Not checked: whether 10 references can be decoded; {VALUES}." in page


def test_a_broken_set_says_what_was_not_checked(server: RangeServer) -> None:
    server.files["/f"] = bytes(4)
    chunks = {"x/0": [f"{server.url}/f", 0, 4], "x/1": [f"{server.url}/f", 0, 9]}
    refs = rx.open_references({"x/.zarray": json.dumps(ARRAY), **chunks})
    audit = audited(refs, server, "all")
    assert (audit.good, audit.summary.verdict) == (False, "not as it should be")
    assert f"Not checked: {VALUES}." in str(audit)


def test_ranges_of_a_target_of_unknown_size_are_not_compared(
    refs: rx.ReferenceSet, server: RangeServer
) -> None:
    server.hides_sizes = True
    summary = audited(refs, server, "none").summary
    assert (summary.compared, summary.uncompared) == (0, 10)
    assert summary.verdict == "all targets answered"
    assert summary.not_checked[0] == "10 ranges of targets of unknown size"
    (check,) = found = refs.allowing(server.url).check_targets()
    assert (check.state, check.size, check.past_end) == ("good", None, None)
    assert found.summary == (
        "1 target: 1 that answered, ranges not compared. "
        "Only sizes were compared; no data was read or decoded."
    )
    for face in (str(found), found._repr_html_()):
        assert "not known" in face
        assert "good" not in face


def test_a_range_that_ends_past_64_bits_is_past_the_end(tmp_path: Path) -> None:
    (tmp_path / "f.nc").write_bytes(bytes(8))
    (tmp_path / "set.json").write_text(json.dumps({"x/0": ["f.nc", 2**63 - 10, 100]}))
    audit = rx.open_references(tmp_path / "set.json").audit(decode="none")
    assert rows(audit)["x/0"]["state"] == "past end"


@pytest.mark.parametrize(("references", "size"), [(QUARTERS, 3 * 2**62), (PAST, None)])
def test_the_bytes_of_an_audit_are_exact_or_not_known(
    references: dict[str, Any], size: int | None, tmp_path: Path
) -> None:
    for name in "fgh":
        (tmp_path / f"{name}.nc").write_bytes(bytes(8))
    (tmp_path / "set.json").write_text(json.dumps(references))
    audit = rx.open_references(tmp_path / "set.json").audit(decode="none")
    assert audit.summary.bytes == size
    assert audit.summary.states == {"past end": len(references) - 1}
    assert ("An unknown number of bytes referenced" in str(audit)) == (size is None)


def test_keys_outside_arrays_have_no_number_of_chunks(server: RangeServer) -> None:
    server.files["/f"] = bytes(4)
    audit = rx.open_references({"other": [f"{server.url}/f", 0, 4]}).allowing(server.url).audit()
    assert audit.to_dict()["arrays"][0]["chunks"] is None


def test_the_end_of_a_target_of_keys_that_were_not_evaluated_is_not_known(
    server: RangeServer,
) -> None:
    server.files |= {"/1": bytes(4), "/2": bytes(4)}
    item = {
        "key": "x/{{u}}.{{i}}", "url": "{{s}}/{{u}}", "offset": "{{i}}", "length": "1",
        "dimensions": {"u": [1, 2], "i": {"stop": 10**9}},
    }  # fmt: skip
    refs = rx.open_references({"version": 1, "templates": {"s": server.url}, "gen": [item]})
    _, further = refs.allowing(server.url).check_targets()
    assert (further.state, further.end, further.past_end) == ("good", None, None)
    assert further.words == "that answered, ranges not compared"
