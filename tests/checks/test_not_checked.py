"""What was not checked is said, and is never good."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.states import LedgerState
from tests.helpers.audits import ARRAY, ROOT, files, many, states
from tests.helpers.commands import run, start
from tests.helpers.servers import RangeServer


@pytest.fixture
def refs(server: RangeServer) -> rx.ReferenceSet:
    return many(server, 10)


def audited(refs: rx.ReferenceSet, server: RangeServer, decode: int | str) -> rx.types.Report:
    return refs.allowing(server.url).audit(decode=decode)


@pytest.mark.parametrize("decode", ["all", 1, "none"])
def test_the_headline_is_what_was_checked(
    refs: rx.ReferenceSet, server: RangeServer, decode: int | str
) -> None:
    audit = audited(refs, server, decode)
    found = states(audit)
    decoded, left = found.get("decoded", 0), found.get("inside the file", 0)
    assert (decoded + left, decode == "all") == (10, not left)
    text = f"all 10 ranges are inside their files; {decoded} chunk"
    verb = "decodes" if decoded == 1 else "decode"
    text += f" {verb}" if decoded == 1 else f"s {verb}"
    assert (audit.status, audit.headline.text) == (0, text)
    coverage = f"Found: 10 of 10 files. Inside their files: 10 of 10 chunks. Decoded: {decoded}."
    for face in (str(audit), audit._repr_html_()):
        assert text in face
        assert coverage in face
    as_json = audit.to_dict()
    assert (as_json["status"], as_json["headline"], as_json["verb"]) == (0, text, "audit")
    assert as_json["coverage"]["chunks"] == {"total": 10, "inside": 10, "decoded": decoded,
                                             "values": 0}  # fmt: skip


def test_the_page_says_what_was_not_checked(
    refs: rx.ReferenceSet, server: RangeServer, tmp_path: Path
) -> None:
    audited(refs, server, "none").to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "10 inside the file</td>" in page
    assert "Decoded: 0." in page


@pytest.mark.parametrize("verb", ["check_targets", "audit"])
def test_ranges_of_a_file_of_unknown_size_are_not_known(
    refs: rx.ReferenceSet, server: RangeServer, verb: str
) -> None:
    server.hides_sizes = True
    options: dict[str, Any] = {"decode": "none"} if verb == "audit" else {}
    found = getattr(refs.allowing(server.url), verb)(**options)
    assert (found.chunks("x") == LedgerState.REFERENCED).all()
    assert (found.status, found.headline.text) == (2, "not known: 10 chunks were not checked")
    reason = "10 references of `x` (The store does not report its size)"
    assert f"Not checked: {reason}." in str(found)
    row = files(found)["3"]
    assert (row["state"], row["size"], row["past_end"]) == ("found", None, 0)
    share = getattr(refs.allowing(server.url), verb)(only="1/2", **options)
    assert share.status == 2  # what the share has is not known, either


def test_whole_files_need_no_size(server: RangeServer) -> None:
    server.files["/f"] = bytes(4)
    server.hides_sizes = True
    chunks = {"x/.zarray": json.dumps(ARRAY | {"shape": [4]}), "x/0": [f"{server.url}/f"]}
    found = rx.open_references(ROOT | chunks).allowing(server.url).check_targets()
    assert (found.status, found.headline.text) == (0, "its 1 range is inside its file")


def test_shares_are_the_whole(refs: rx.ReferenceSet, server: RangeServer) -> None:
    parts = [refs.allowing(server.url).audit(only=f"{n}/3") for n in (1, 2, 3)]
    assert [part.status for part in parts] == [0, 0, 0]
    assert sum(part.coverage["files"]["read"] for part in parts) == 10
    assert "in share 2/3 of it" in parts[1].headline.text
    late = refs.allowing(server.url).audit(within="0.000001")
    assert (late.status, late.coverage["chunks"]["inside"]) == (2, 0)


@pytest.mark.parametrize("is_inline", [False, True])
def test_values_behind_a_codec_that_is_not_installed_are_not_known(
    tmp_path: Path, is_inline: bool
) -> None:
    """They are no fault of the set, and not the same either; the rest is compared."""
    source, target = tmp_path / "a.h5", tmp_path / "set.json"
    with h5py.File(source, "w") as file:
        for name in ("gzip", "lzf"):
            data = np.arange(1.0, 2049)
            file.create_dataset(name, data=data, chunks=(1024,), compression=name)
    assert run("convert", source, target, "--to", "v0").status == 0
    if is_inline:
        refs = json.loads(target.read_text())
        for key in ("lzf/0", "lzf/1"):
            _, offset, length = refs[key]
            stored = source.read_bytes()[offset : offset + length]
            refs[key] = "base64:" + base64.b64encode(stored).decode()
        target.write_text(json.dumps(refs))
    assert run("verify", target, "--values", "all").status == 0

    (tmp_path / "without" / "imagecodecs").mkdir(parents=True)
    (tmp_path / "without" / "imagecodecs" / "__init__.py").write_text("raise ImportError")
    without = {"PYTHONPATH": str(tmp_path / "without")}
    ran = start("verify", target, "--values", "all", "--json", **without)
    out, err = ran.communicate()
    found = json.loads(out)
    assert (ran.returncode, err, found["status"], found["findings"]) == (2, "", 2, [])
    assert found["headline"].startswith("not known: 2 chunks ")
    assert found["coverage"]["chunks"]["values"] == 2
    assert "imagecodecs_lzf" in " ".join(found["summary"])
