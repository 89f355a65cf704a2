from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.checks import sorting as merging
from refexplorer.checks.engine import AuditProgress
from refexplorer.checks.look.chunks import checksum
from refexplorer.checks.parts import OVERLAPS, Meetings, overlaps
from refexplorer.checks.sorting import PlanSizes
from refexplorer.checks.states import CHUNK_TERMS, LedgerState
from refexplorer.core.errors import LimitError, SourceError
from tests.helpers.audits import ARRAY, ROOT, audit_in_parts, files, many, rows, states, table
from tests.helpers.servers import RangeServer


@pytest.fixture
def refs(server: RangeServer) -> rx.ReferenceSet:
    """Have an array of ten chunks, each with another fate, and a key outside."""
    server.files["/good"] = bytes(range(16))
    server.etags["/good"] = '"v1"'
    server.statuses["/closed"] = 403
    url = server.url
    return rx.open_references(
        ROOT
        | {
            "x/.zarray": json.dumps(ARRAY),
            "x/0": [f"{url}/good", 0, 4],
            "x/1": [f"{url}/good", 0, 4],
            "x/2": [f"{url}/good", 6, 3],
            "x/3": [f"{url}/good", 8, 4],
            "x/4": [f"{url}/good", 14, 4],
            "x/5": [f"{url}/closed", 0, 4],
            "x/6": "base64:AAECAw==",
            "x/7": ["https://host.example/f", 0, 4],
            "x/99": [f"{url}/good", 4, 2],
            "other": [f"{url}/gone"],
        }
    )


def test_each_chunk_and_target_has_its_state(refs: rx.ReferenceSet, server: RangeServer) -> None:
    audit = refs.allowing(server.url).audit(decode="all")
    found = rows(audit)
    assert {key: row["state"] for key, row in found.items()} == {
        "x/0": "decoded", "x/1": "decoded", "x/2": "undecodable", "x/3": "decoded",
        "x/4": "past the end", "x/5": "file not read", "x/6": "decoded", "x/7": "not allowed",
        "x/99": "inside the file", "other": "unreachable",
    }  # fmt: skip
    meets = {key: row["overlap"] for key, row in found.items() if row["overlap"] != "alone"}
    assert meets == {"x/0": "same", "x/1": "same", "x/2": "partly", "x/3": "partly"}
    assert found["x/0"]["checksum"] == checksum(np.arange(4, dtype="u1"))
    assert found["x/0"]["checksum"] == found["x/6"]["checksum"] != found["x/3"]["checksum"]
    assert (found["x/0"]["target_size"], found["x/0"]["etag"]) == (16, '"v1"')
    assert "16 bytes" in found["x/4"]["message"]
    assert found["other"]["message"] == "There is no such file (404)."
    names = [CHUNK_TERMS[LedgerState(state)].name for state in audit.chunks("x").tolist()]
    assert names == [*(found[f"x/{n}"]["state"] for n in range(8)), *["no reference"] * 2]
    assert (audit.status, audit.headline.text) == (1, "has errors: 1 file cannot be read")
    assert {name: row["state"] for name, row in files(audit).items()} == {
        "good": "found", "closed": "access denied", "gone": "unreachable", "f": "not allowed",
    }  # fmt: skip
    good = files(audit)["good"]
    assert (good["past_end"], good["failed"], good["references"], good["end"]) == (1, 1, 6, 18)
    assert audit.counts.grants == ("https://host.example",)
    assert {(each.code, each.array, each.keys) for each in audit.findings} == {
        ("range-past-end", "x", ("x/4",)),
        ("unreadable", "x", ("x/2",)),
        ("unreachable", "", ("other",)),
        ("overlapping-ranges", "x", ("x/2", "x/3")),
        ("no-references-at", "x", ("x/8",)),
    }


def test_a_finding_for_each_file_whose_end_ranges_pass(tmp_path: Path) -> None:
    for name in "fg":
        (tmp_path / name).write_bytes(bytes(8))
    chunks = {f"x/{n}": [f"{tmp_path}/{'fg'[n % 2]}", 2 * n, 4] for n in range(10)}
    refs = rx.open_references(ROOT | {"x/.zarray": json.dumps(ARRAY)} | chunks)
    for found in (
        refs.allowing(str(tmp_path)).check_targets(),
        audit_in_parts(refs, allow=[str(tmp_path)], decode="none"),
        refs.allowing(str(tmp_path)).verify(),
    ):
        past = [each for each in found.findings if each.code == "range-past-end"]
        assert [(each.keys, each.reference_count, each.file_count) for each in past] == [
            (("x/4", "x/6", "x/8"), 3, 1),
            (("x/3", "x/5", "x/7", "x/9"), 4, 1),
        ]
        assert "3 ranges reach past the end of f, which has 8 bytes" in past[0].message
        assert found.ledger.counts("x")[LedgerState.PAST_END] == 7
        assert (found.status, found.headline.text) == (1, "has errors")


def test_a_broken_connection_is_distinguished_from_broken_data(server: RangeServer) -> None:
    server.files["/f"] = bytes(16)
    server.truncated.add("/f")
    chunks = {"x/.zarray": json.dumps(ARRAY), "x/0": [f"{server.url}/f", 0, 4]}
    refs = rx.open_references(ROOT | chunks)
    (row,) = rows(refs.allowing(server.url).audit()).values()
    assert row["state"] == "unreachable"
    assert "connection ended before all bytes arrived" in row["message"]


def test_a_size_past_64_bits_gives_nothing_up(server: RangeServer) -> None:
    server.answers["/f"] = 206, {"Content-Range": f"bytes 0-255/{2**63 + 5}"}, bytes(256)
    refs = rx.open_references({"a": [f"{server.url}/f", 0, 1]})
    (row,) = rows(refs.allowing(server.url).audit()).values()
    assert (row["state"], row["target_size"]) == ("inside the file", 2**63 - 1)
    assert files(refs.allowing(server.url).check_targets())["f"]["size"] == 2**63 - 1


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Encoding": "gzip", "Content-Range": "bytes 0-3/16"},
        {"Content-Type": "text/html", "Content-Range": "bytes 0-3/16"},
    ],
)
def test_what_is_not_the_file_is_never_decoded(
    server: RangeServer, headers: dict[str, str]
) -> None:
    server.answers["/f"] = 206, headers, b"<!DO"
    chunks = {"x/.zarray": json.dumps(ARRAY), "x/0": [f"{server.url}/f", 0, 4]}
    refs = rx.open_references(ROOT | chunks)
    (row,) = rows(refs.allowing(server.url).audit(decode="all")).values()
    assert (row["state"], row["checksum"]) == ("unreachable", None)
    assert next(iter(headers)) in row["message"]


def test_a_file_that_is_only_read_encoded_cannot_be_read(server: RangeServer) -> None:
    server.files["/f"] = bytes(16)
    headers = {"Content-Encoding": "gzip", "Content-Range": "bytes 0-3/16"}
    server.answers["/f bytes=0-3"] = 206, headers, b"\x1f\x8b\x08\x00"
    chunks = {"x/.zarray": json.dumps(ARRAY), "x/0": [f"{server.url}/f", 0, 4]}
    refs = rx.open_references(ROOT | chunks)
    (row,) = rows(refs.allowing(server.url).audit(decode="all")).values()
    assert (row["state"], row["target_size"], row["checksum"]) == ("unreachable", 16, None)
    assert "Content-Encoding: gzip" in row["message"]


def test_nothing_is_asked_that_is_not_allowed(
    refs: rx.ReferenceSet, server: RangeServer, no_sockets: None
) -> None:
    audit = refs.audit(decode="all")
    assert states(audit) == {"decoded": 1, "not allowed": 9}
    assert audit.status == 2
    assert server.requests == []
    assert f'refs.allowing("{server.url}"' in str(audit)


@pytest.mark.parametrize("name", ["sst.v0.json", "sst.v1.json", "sst.parq"])
def test_values_have_the_checksums_that_zarr_gives(demo: Path, name: str) -> None:
    refs = rx.open_references(demo / name)
    audit = refs.audit(decode="all")
    assert audit.good
    assert table(audit).num_rows == 42
    opened: Any = refs.to_zarr()
    for row in rows(audit).values():
        array = refs.array(row["array"])
        index = array.index_at(row["chunk"])
        assert row["key"] == array.chunk_key(index)
        values = opened[row["array"]].get_block_selection(index)
        if values.shape == array.chunks:  # at the edge Zarr gives less than the chunk has
            assert row["checksum"] == checksum(values)


def test_the_results_do_not_depend_on_the_workers(demo: Path) -> None:
    refs = rx.open_references(demo / "broken.json")
    one, four = (audit_in_parts(refs, decode=2, workers=workers) for workers in (1, 4))
    assert len(list(one.tables())) > 3
    assert table(one).equals(table(four))
    assert one.to_dict() == four.to_dict()


def test_nor_on_how_it_was_divided(demo: Path) -> None:
    refs = rx.open_references(demo / "broken.json")
    whole = refs.audit(decode="all")
    divided = audit_in_parts(refs, decode="all")
    assert len(list(divided.tables())) > len(list(whole.tables()))
    assert sorted(rows(whole).items()) == sorted(rows(divided).items())


def test_generated_chunks_are_audited_like_written_ones(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(range(40)))
    item = {
        "key": "x/{{i}}", "url": "{{u}}/f", "offset": "{{i * 4}}", "length": "4",
        "dimensions": {"i": {"stop": 12}},
    }  # fmt: skip
    document = {
        "version": 1, "templates": {"u": str(tmp_path)}, "gen": [item],
        "refs": ROOT | {"x/.zarray": json.dumps(ARRAY)},
    }  # fmt: skip
    audit = rx.open_references(document).allowing(str(tmp_path)).audit(decode="all")
    assert states(audit) == {"decoded": 10, "past the end": 2}
    assert (audit.chunks("x") == LedgerState.DECODED).all()
    assert audit.status == 1  # for two keys outside the grid


def test_a_stopped_audit_goes_on_after_its_last_part(server: RangeServer, tmp_path: Path) -> None:
    refs, folder = many(server, 12), tmp_path / "kept"
    server.etags = dict.fromkeys(server.files, '"one"')

    def watch(progress: AuditProgress) -> bool:
        return progress.audited < 4

    half = audit_in_parts(refs, allow=[server.url], results=folder, watch=watch, workers=1)
    assert 4 <= table(half).num_rows < 12
    assert (half.counts.references, half.status) == (12, 2)
    assert half.headline.text.startswith("not known: ")
    assert not [path for path in folder.iterdir() if not path.name.startswith("part-")]
    done = {row["target"].rpartition("/")[2] for row in table(half).to_pylist()}
    server.requests.clear()
    whole = audit_in_parts(refs, allow=[server.url], results=folder, resume=True)
    assert whole.good
    again = Counter(path[1:] for path in server.requests)
    assert {again[name] for name in done} == {1}  # asked for its version, and not read
    assert table(whole).equals(table(audit_in_parts(refs, allow=[server.url])))
    assert pq.read_table(folder).num_rows == 12


@pytest.mark.parametrize("change", ["cut", "gone", "others of the same size"])
def test_results_of_files_that_changed_are_not_used(
    change: str, server: RangeServer, tmp_path: Path
) -> None:
    refs, folder = many(server, 12), tmp_path / "kept"
    server.etags = dict.fromkeys(server.files, '"one"')
    assert audit_in_parts(refs, allow=[server.url], results=folder).good
    (name, body), *_ = server.files.items()
    server.etags[name] = '"two"'
    if change == "gone":
        del server.files[name]
    else:
        server.files[name] = body[:1] if change == "cut" else body[::-1]
    found = audit_in_parts(refs, allow=[server.url], results=folder, resume=True)
    fresh = audit_in_parts(refs, allow=[server.url])
    assert (found.status, str(found)) == (fresh.status, str(fresh))
    assert table(found).equals(table(fresh))


def test_a_store_that_shows_no_version_is_read_again(server: RangeServer, tmp_path: Path) -> None:
    refs, folder = many(server, 3), tmp_path / "kept"
    assert refs.allowing(server.url).audit(results=folder).good
    server.files = {name: body[::-1] for name, body in server.files.items()}
    found = refs.allowing(server.url).audit(results=folder, resume=True)
    assert table(found).equals(table(refs.allowing(server.url).audit()))


def test_results_of_local_files_that_changed_are_not_used(tmp_path: Path) -> None:
    (tmp_path / "d.bin").write_bytes(bytes(1600))
    array = {"zarr_format": 2, "shape": [100], "chunks": [1], "dtype": "<f8", "compressor": None,
             "filters": None, "fill_value": None, "order": "C"}  # fmt: skip
    document = ROOT | {"a/.zarray": array} | {f"a/{n}": ["d.bin", 8 * n, 8] for n in range(100)}
    (tmp_path / "s.json").write_text(json.dumps(document))
    refs, kept = rx.open_references(str(tmp_path / "s.json")), tmp_path / "kept"
    assert refs.audit(results=kept, decode="all").good
    os.truncate(tmp_path / "d.bin", 100)
    assert states(refs.audit(results=kept, decode="all", resume=True))["past the end"] == 88
    (tmp_path / "d.bin").unlink()
    assert states(refs.audit(results=kept, decode="all", resume=True)) == {"unreachable": 100}


def test_results_of_another_state_of_the_set_are_not_used(
    server: RangeServer, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    audit_in_parts(many(server, 12), allow=[server.url], results=folder)
    server.requests.clear()
    audit = audit_in_parts(many(server, 6), allow=[server.url], results=folder, resume=True)
    assert (table(audit).num_rows, pq.read_table(folder).num_rows) == (6, 6)
    with pytest.raises(SourceError, match="already has results; resume them, or name a new folder"):
        many(server, 6).audit(results=folder)


def test_what_was_not_allowed_is_asked_when_it_is(server: RangeServer, tmp_path: Path) -> None:
    refs, folder = many(server, 3), tmp_path / "kept"
    assert states(refs.audit(results=folder)) == {"not allowed": 3}
    assert refs.allowing(server.url).audit(results=folder, resume=True).good


def test_a_part_that_was_cut_off_is_done_again(server: RangeServer, tmp_path: Path) -> None:
    refs, folder = many(server, 3), tmp_path / "kept"
    refs.allowing(server.url).audit(results=folder)
    (part,) = folder.glob("part-*.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    assert refs.allowing(server.url).audit(results=folder, resume=True).good


def test_credentials_are_sent_and_never_written(server: RangeServer, tmp_path: Path) -> None:
    refs, folder = many(server, 3), tmp_path / "kept"
    options = {server.url: {"headers": {"Authorization": "open sesame"}}}
    audit = refs.allowing(server.url, storage_options=options).audit(results=folder)
    assert {headers.get("Authorization") for headers in server.seen_headers} == {"open sesame"}
    audit.to_html(tmp_path / "kept" / "page.html")
    audit.to_parquet(tmp_path / "kept" / "all.parquet")
    assert len(list(folder.iterdir())) == 3
    assert not [path for path in folder.iterdir() if b"sesame" in path.read_bytes()]
    assert "sesame" not in repr(audit.counts) + str(audit)


def test_a_target_that_changes_between_two_parts_is_reported(server: RangeServer) -> None:
    server.files["/f"] = bytes(40)
    refs = rx.open_references(ROOT | {f"k{n}": [f"{server.url}/f", n, 1] for n in range(4)})

    def watch(progress: AuditProgress) -> bool:
        server.etags["/f"] = f'"{progress.audited}"'
        return True

    sizes = PlanSizes(part_cost=2)
    audit = audit_in_parts(refs, allow=[server.url], workers=1, watch=watch, sizes=sizes)
    assert audit.headline.text == "is stale: 1 file changed"
    assert files(audit)["f"]["state"] == "changed"
    assert audit.status == 1


def test_too_many_references_are_refused_with_their_number() -> None:
    item = {
        "key": "x/{{i}}", "url": "s3://b/{{i}}", "dimensions": {"i": {"stop": 10**12}}
    }  # fmt: skip
    refs = rx.open_references({"version": 1, "refs": {}, "gen": [item]})
    with pytest.raises(LimitError, match="1,000,000,000,000 references"):
        refs.audit()


def test_a_chunk_that_would_eat_the_machine_is_reported(tmp_path: Path) -> None:
    import zlib

    (tmp_path / "f").write_bytes(bomb := zlib.compress(bytes(10**8), 1))
    metadata = ARRAY | {"compressor": {"id": "zlib", "level": 1}}
    document = ROOT | {
        "x/.zarray": json.dumps(metadata),
        "x/0": [str(tmp_path / "f"), 0, len(bomb)],
    }
    (row,) = rows(rx.open_references(document).allowing(str(tmp_path)).audit()).values()
    assert row["state"] == "undecodable"
    assert "inflates" in row["message"]


def test_a_codec_that_is_missing_leaves_chunks_unknown(tmp_path: Path) -> None:
    """Nobody knows whether they decode: that is no fault of the set."""
    (tmp_path / "f").write_bytes(bytes(8))
    metadata = ARRAY | {"shape": [8], "compressor": {"id": "imagecodecs_nonsense"}}
    document = {"x/.zarray": json.dumps(metadata), "x/0": "data", "x/1": [f"{tmp_path}/f", 0, 4]}
    refs = rx.open_references(ROOT | document).allowing(str(tmp_path))
    for row in rows(audit := refs.audit()).values():
        assert row["state"] == "codec not installed"
        assert "x requires the codec imagecodecs_nonsense" in row["message"]
    assert audit.status == 2
    assert audit.headline.text == (
        "not known: 2 chunks need a codec or data type that is not installed"
    )
    assert "imagecodecs" in str(audit)
    assert refs.check_targets().status == 0


def test_keys_that_errors_leave_out_are_reported(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(40))
    refs = rx.open_references(ROOT | {"bad": ["u", 1], "good": [f"{tmp_path}/f", 0, 1]})
    audit = refs.allowing(str(tmp_path)).audit()
    assert states(audit) == {"inside the file": 1}
    assert [(each.code, each.keys) for each in audit.findings] == [("bad-ref-shape", ("bad",))]
    assert audit.status == 1


def test_record_files_without_references_are_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(40))
    chunks = {f"x/{n}": [f"{tmp_path}/f", 4 * n, 4] for n in range(10)}
    store = tmp_path / "set.parq"
    refs = rx.open_references(ROOT | {"x/.zarray": json.dumps(ARRAY)} | chunks)
    refs.to_parquet(store, record_size=3)
    (store / "x" / "refs.1.parq").unlink()
    audit = rx.open_references(store).allowing(str(tmp_path)).audit(decode="all")
    assert audit.good
    assert audit.headline.text == "all 7 ranges are inside their files; 7 chunks decode"
    assert "1 record file without references, 1 missing" in str(audit)
    (store / "x" / "refs.3.parq").write_text("<html>")
    refs = rx.open_references(store)
    audit = refs.allowing(str(tmp_path)).audit(decode="all")
    assert audit.status == 1
    assert [(each.code, each.reference_count) for each in audit.findings] == [
        ("parquet-unreadable", 1)
    ]
    assert audit.chunks("x").tolist()[-1] == LedgerState.LOST_RECORDS
    missing, unreadable = audit.counts.lost.files
    assert (missing.file, missing.array, missing.first, missing.chunks) == (
        "x/refs.1.parq", "x", 3, 3,
    )  # fmt: skip
    assert (unreadable.file, unreadable.chunks) == ("x/refs.3.parq", 1)
    audit.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text().replace("<code>", "`").replace("</code>", "`")
    for report in (str(audit), page):
        assert "2 record files without references, 1 missing and 1 unreadable: 3 chunks" in report
        assert "read as the fill value, 1 chunk cannot be read." in report
        assert "The record file `x/refs.1.parq` is missing: 3 chunks of x (3 to 5)" in report
    assert json.loads(json.dumps(audit.to_dict()))["lost"]["files"][0]["file"] == "x/refs.1.parq"
    assert refs.diagnostics
    again = refs.allowing(str(tmp_path)).audit(decode="all")
    assert again.to_dict() == audit.to_dict()


def test_a_set_without_references_is_good() -> None:
    audit = rx.open_references({".zgroup": '{"zarr_format": 2}'}).audit()
    assert audit.good
    assert audit.headline.text == "it refers to no file"
    assert list(audit.tables()) == []


def test_text_of_a_file_is_shown_as_text(tmp_path: Path) -> None:
    refs = rx.open_references({"<b>\u202e": ["<script>alert(1)</script>", 0, 1]})
    audit = refs.allowing(str(tmp_path)).audit()
    audit.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "\u202e" not in page + str(audit)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 5)), max_size=12))
def test_overlaps_are_those_of_every_pair(ranges: list[tuple[int, int, int]]) -> None:
    ordered = sorted((target, start, start + size) for target, start, size in ranges)
    found = overlaps(*np.array(ordered, np.int64).reshape(-1, 3).T)
    assert [OVERLAPS[code] for code in found] == list(_by_pairs(ordered))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 3)), max_size=40))
def test_overlaps_are_found_across_intervals(ranges: list[tuple[int, int, int]]) -> None:
    """Runs of five in batches of two, of which two are read together."""
    batches, written = merging.Batches(2), list[pa.RecordBatch]()
    schema = pa.schema(dict.fromkeys(("number", "offset", "length"), pa.int64()))
    for start in range(0, max(len(ranges), 1), 5):
        of_run = [dict(zip(schema.names, each, strict=True)) for each in ranges[start : start + 5]]
        rows, places = merging.in_order(pa.Table.from_pylist(of_run, schema))
        batches.add(places)
        written += rows.to_batches(2)
    intervals = list(merging.merged(written.__getitem__, batches, schema, together=2))
    runs = -(-len(ranges) // 5)
    assert all(each.rows.num_rows <= 2 * (2 + runs) for each in intervals)
    meetings, found = Meetings(), list[tuple[Any, ...]]()
    for rows, places, following in intervals:
        codes = meetings.of(places, following).tolist()
        columns = (rows[name].to_pylist() for name in schema.names)
        found += zip(*columns, (OVERLAPS[code] for code in codes), strict=True)
    ordered = sorted((target, start, start + size) for target, start, size in ranges)
    meets = zip(ordered, _by_pairs(ordered), strict=True)
    assert sorted(found) == sorted((t, a, b - a, how) for (t, a, b), how in meets)


def _by_pairs(ranges: list[tuple[int, int, int]]) -> Iterator[str]:
    for place, (target, start, end) in enumerate(ranges):
        others = [
            (a, b)
            for at, (t, a, b) in enumerate(ranges)
            if at != place and t == target and max(a, start) < min(b, end)
        ]
        if any(other != (start, end) for other in others):
            yield "partly"
        else:
            yield "same" if others else "alone"
