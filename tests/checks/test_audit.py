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
from refexplorer.checks.look.audit_states import STATES
from refexplorer.checks.look.chunks import checksum
from refexplorer.checks.parts import OVERLAPS, Meetings, overlaps
from refexplorer.checks.sorting import PlanSizes
from refexplorer.core.errors import LimitError, SourceError
from tests.helpers.audits import ARRAY, audit_in_parts, many, rows, table
from tests.helpers.servers import RangeServer


@pytest.fixture
def refs(server: RangeServer) -> rx.ReferenceSet:
    """Have an array of ten chunks, each with another fate, and a key outside."""
    server.files["/good"] = bytes(range(16))
    server.etags["/good"] = '"v1"'
    server.statuses["/closed"] = 403
    url = server.url
    return rx.open_references(
        {
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
        "x/4": "past end", "x/5": "unreachable", "x/6": "decoded", "x/7": "not allowed",
        "x/99": "good", "other": "unreachable",
    }  # fmt: skip
    meets = {key: row["overlap"] for key, row in found.items() if row["overlap"] != "alone"}
    assert meets == {"x/0": "same", "x/1": "same", "x/2": "partly", "x/3": "partly"}
    assert found["x/0"]["checksum"] == checksum(np.arange(4, dtype="u1"))
    assert found["x/0"]["checksum"] == found["x/6"]["checksum"] != found["x/3"]["checksum"]
    assert (found["x/0"]["target_size"], found["x/0"]["etag"]) == (16, '"v1"')
    assert "16 bytes" in found["x/4"]["message"]
    assert found["other"]["message"] == "There is no such file (404)."
    states = [STATES[state] if state >= 0 else "" for state in audit.grid("x").tolist()]
    assert states == [*(found[f"x/{n}"]["state"] for n in range(8)), "", ""]
    assert not audit.good
    assert audit.summary.targets == {"short": 1, "unreachable": 2, "not allowed": 1}
    assert audit.summary.grants == ("https://host.example",)
    assert [problem.key for problem in audit.summary.problems] == [
        "x/2", "x/4", "x/5", "x/7", "other",
    ]  # fmt: skip


def test_a_broken_connection_is_told_from_broken_data(server: RangeServer) -> None:
    server.files["/f"] = bytes(16)
    server.truncated.add("/f")
    refs = rx.open_references({"x/.zarray": json.dumps(ARRAY), "x/0": [f"{server.url}/f", 0, 4]})
    (row,) = rows(refs.allowing(server.url).audit()).values()
    assert row["state"] in ("unreachable", "unreadable")
    assert "connection ended before all bytes came" in row["message"]


def test_a_size_past_64_bits_gives_nothing_up(server: RangeServer) -> None:
    server.answers["/f"] = 206, {"Content-Range": f"bytes 0-255/{2**63 + 5}"}, bytes(256)
    refs = rx.open_references({"a": [f"{server.url}/f", 0, 1]})
    assert refs.allowing(server.url).check_targets()[0].size == 2**63 + 5
    (row,) = rows(refs.allowing(server.url).audit()).values()
    assert (row["state"], row["target_size"]) == ("good", 2**63 - 1)


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
    refs = rx.open_references({"x/.zarray": json.dumps(ARRAY), "x/0": [f"{server.url}/f", 0, 4]})
    (row,) = rows(refs.allowing(server.url).audit(decode="all")).values()
    assert (row["state"], row["checksum"]) == ("unreachable", None)
    assert next(iter(headers)) in row["message"]


def test_a_file_that_is_only_read_encoded_is_unreadable(server: RangeServer) -> None:
    server.files["/f"] = bytes(16)
    headers = {"Content-Encoding": "gzip", "Content-Range": "bytes 0-3/16"}
    server.answers["/f bytes=0-3"] = 206, headers, b"\x1f\x8b\x08\x00"
    refs = rx.open_references({"x/.zarray": json.dumps(ARRAY), "x/0": [f"{server.url}/f", 0, 4]})
    (row,) = rows(refs.allowing(server.url).audit(decode="all")).values()
    assert (row["state"], row["target_size"], row["checksum"]) == ("unreadable", 16, None)
    assert "Content-Encoding: gzip" in row["message"]


def test_nothing_is_asked_that_is_not_allowed(
    refs: rx.ReferenceSet, server: RangeServer, no_sockets: None
) -> None:
    audit = refs.audit(decode="all")
    assert audit.summary.states == {"decoded": 1, "not allowed": 9}
    assert server.requests == []
    assert f'refs.allowing("{server.url}"' in str(audit)


@pytest.mark.parametrize("name", ["sst.v0.json", "sst.v1.json", "sst.parq"])
def test_values_have_the_checksums_that_zarr_gives(demo: Path, name: str) -> None:
    refs = rx.open_references(demo / name)
    audit = refs.audit(decode="all")
    assert audit.good
    assert audit.summary.audited == 42
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
    assert one.summary == four.summary


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
        "refs": {"x/.zarray": json.dumps(ARRAY)},
    }  # fmt: skip
    audit = rx.open_references(document).allowing(str(tmp_path)).audit(decode="all")
    assert audit.summary.states == {"decoded": 10, "past end": 2}
    assert (audit.grid("x") == STATES.index("decoded")).all()


def test_a_stopped_audit_goes_on_after_its_last_part(server: RangeServer, tmp_path: Path) -> None:
    refs, folder = many(server, 12), tmp_path / "kept"
    server.etags = dict.fromkeys(server.files, '"one"')

    def watch(progress: AuditProgress) -> bool:
        return progress.audited < 4

    half = audit_in_parts(refs, allow=[server.url], results=folder, watch=watch, workers=1)
    assert 4 <= half.summary.audited < 12
    assert (half.summary.references, half.good) == (12, False)
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
    assert (found.good, str(found)) == (fresh.good, str(fresh))
    assert table(found).equals(table(fresh))


def test_a_store_that_tells_no_version_is_read_again(server: RangeServer, tmp_path: Path) -> None:
    refs, folder = many(server, 3), tmp_path / "kept"
    assert refs.allowing(server.url).audit(results=folder).good
    server.files = {name: body[::-1] for name, body in server.files.items()}
    found = refs.allowing(server.url).audit(results=folder, resume=True)
    assert table(found).equals(table(refs.allowing(server.url).audit()))


def test_results_of_local_files_that_changed_are_not_used(tmp_path: Path) -> None:
    (tmp_path / "d.bin").write_bytes(bytes(1600))
    array = {"zarr_format": 2, "shape": [100], "chunks": [1], "dtype": "<f8", "compressor": None,
             "filters": None, "fill_value": None, "order": "C"}  # fmt: skip
    document = {"a/.zarray": array} | {f"a/{n}": ["d.bin", 8 * n, 8] for n in range(100)}
    (tmp_path / "s.json").write_text(json.dumps(document))
    refs, kept = rx.open_references(str(tmp_path / "s.json")), tmp_path / "kept"
    assert refs.audit(results=kept, decode="all").good
    os.truncate(tmp_path / "d.bin", 100)
    assert refs.audit(results=kept, decode="all", resume=True).summary.states["past end"] == 88
    (tmp_path / "d.bin").unlink()
    assert refs.audit(results=kept, decode="all", resume=True).summary.states == {
        "unreachable": 100
    }


def test_results_of_another_state_of_the_set_are_not_used(
    server: RangeServer, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    audit_in_parts(many(server, 12), allow=[server.url], results=folder)
    server.requests.clear()
    audit = audit_in_parts(many(server, 6), allow=[server.url], results=folder, resume=True)
    assert (audit.summary.audited, pq.read_table(folder).num_rows) == (6, 6)
    with pytest.raises(SourceError, match="already has results; resume them, or name a new folder"):
        many(server, 6).audit(results=folder)


def test_what_was_not_allowed_is_asked_when_it_is(server: RangeServer, tmp_path: Path) -> None:
    refs, folder = many(server, 3), tmp_path / "kept"
    assert refs.audit(results=folder).summary.states == {"not allowed": 3}
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
    assert "sesame" not in repr(audit.summary)


def test_a_target_that_changes_between_two_parts_is_told(server: RangeServer) -> None:
    server.files["/f"] = bytes(40)
    refs = rx.open_references({f"k{n}": [f"{server.url}/f", n, 1] for n in range(4)})

    def watch(progress: AuditProgress) -> bool:
        server.etags["/f"] = f'"{progress.audited}"'
        return True

    sizes = PlanSizes(part_cost=2)
    audit = audit_in_parts(refs, allow=[server.url], workers=1, watch=watch, sizes=sizes)
    assert audit.summary.targets == {"changed": 1}
    assert not audit.good


def test_too_many_references_are_refused_with_their_number() -> None:
    item = {
        "key": "x/{{i}}", "url": "s3://b/{{i}}", "dimensions": {"i": {"stop": 10**12}}
    }  # fmt: skip
    refs = rx.open_references({"version": 1, "refs": {}, "gen": [item]})
    with pytest.raises(LimitError, match="1,000,000,000,000 references"):
        refs.audit()


def test_a_chunk_that_would_eat_the_machine_is_told(tmp_path: Path) -> None:
    import zlib

    (tmp_path / "f").write_bytes(bomb := zlib.compress(bytes(10**8), 1))
    metadata = ARRAY | {"compressor": {"id": "zlib", "level": 1}}
    document = {"x/.zarray": json.dumps(metadata), "x/0": [str(tmp_path / "f"), 0, len(bomb)]}
    (row,) = rows(rx.open_references(document).allowing(str(tmp_path)).audit()).values()
    assert row["state"] == "undecodable"
    assert "inflates" in row["message"]


def test_a_codec_that_is_missing_is_told_with_the_name_of_the_array() -> None:
    metadata = ARRAY | {"compressor": {"id": "nonsense"}}
    refs = rx.open_references({"a/x/.zarray": json.dumps(metadata), "a/x/0": "data"})
    (row,) = rows(refs.audit()).values()
    assert "a/x requires the codec nonsense, which no installed package" in row["message"]


def test_keys_that_errors_leave_out_are_told(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(40))
    refs = rx.open_references({"bad": ["u", 1], "good": [f"{tmp_path}/f", 0, 1]})
    audit = refs.allowing(str(tmp_path)).audit()
    assert audit.summary.states == {"good": 1}
    assert audit.summary.left_out == 1
    assert "1 key rejected by errors" in str(audit)
    assert not audit.good


def test_record_files_without_references_are_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(40))
    chunks = {f"x/{n}": [f"{tmp_path}/f", 4 * n, 4] for n in range(10)}
    store = tmp_path / "set.parq"
    refs = rx.open_references(
        {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(ARRAY)} | chunks
    )
    refs.to_parquet(store, record_size=3)
    (store / "x" / "refs.1.parq").unlink()
    audit = rx.open_references(store).allowing(str(tmp_path)).audit(decode="all")
    assert audit.good
    assert "all 7 chunks decode, but record files are missing" in str(audit)
    (store / "x" / "refs.3.parq").write_text("<html>")
    refs = rx.open_references(store)
    audit = refs.allowing(str(tmp_path)).audit(decode="all")
    assert not audit.good
    missing, unreadable = audit.record_files().to_pylist()
    assert missing == {
        "file": "x/refs.1.parq", "array": "x", "state": "missing", "first": 3, "chunks": 3,
        "message": "",
    }  # fmt: skip
    assert (unreadable["file"], unreadable["chunks"]) == ("x/refs.3.parq", 1)
    assert "x/refs.3.parq" in unreadable["message"]
    audit.to_html(tmp_path / "page.html")
    for report in (str(audit), (tmp_path / "page.html").read_text()):
        assert "The record file `x/refs.1.parq` is missing" in report
        assert "3 chunks of x (3 to 5)" in report
        assert "2 record files without references, 1 missing and 1 unreadable: 4 chunks" in report
    assert json.loads(json.dumps(audit.to_dict()))["lost"]["files"][0]["file"] == "x/refs.1.parq"
    assert refs.diagnostics
    assert refs.allowing(str(tmp_path)).audit(decode="all").summary == audit.summary


def test_a_set_without_references_is_good() -> None:
    audit = rx.open_references({".zgroup": '{"zarr_format": 2}'}).audit()
    assert audit.good
    assert "nothing to ask" in str(audit)
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
