"""Parquet stores are read as far as a question needs, and one bad file stays alone."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refexplorer as rx
from refexplorer.refset.numbered_segment import Records
from refexplorer.refset.opened_set import internals, watched

ROWS = 4
ARRAY = {
    "zarr_format": 2,
    "shape": [3 * ROWS],
    "chunks": [1],
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
    "order": "C",
    "fill_value": 0,
}
URLS = ("s3://b/0", "s3://b/1", None, "s3://b/3")


def write_records(path: Path, urls: Sequence[str | None] = URLS, offset: int = 10) -> None:
    columns = {
        "path": pa.array(urls, pa.string()),
        "offset": pa.array([offset] * len(urls), pa.int64()),
        "size": pa.array([5] * len(urls), pa.int64()),
        "raw": pa.nulls(len(urls), pa.binary()),
    }
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    metadata = {"metadata": {"x/.zarray": ARRAY}, "record_size": ROWS}
    (tmp_path / ".zmetadata").write_text(json.dumps(metadata))
    (tmp_path / "x").mkdir()
    for number in range(3):
        write_records(tmp_path / "x" / f"refs.{number}.parq")
    return tmp_path


def errors(refs: rx.ReferenceSet) -> list[tuple[str, str]]:
    found = (d for d in refs.diagnostics if d.severity == "error" and d.code != "no-root")
    return [(d.code, d.pointer) for d in found]


def test_a_key_and_a_count_need_no_other_record_file(store: Path) -> None:
    refs = rx.open_references(store)
    assert refs.count == 10
    for number in (0, 2):
        (store / "x" / f"refs.{number}.parq").unlink()
    assert refs["x/5"] == rx.types.Range("s3://b/1", 10, 5)
    assert "x/6" not in refs
    assert refs.count == 10


def test_an_absent_key_needs_no_references_where_the_footer_vouches_for_numbers(
    store: Path,
) -> None:
    refs = rx.open_references(store)
    (records,) = internals(refs).opened.segments
    assert isinstance(records, Records)
    assert refs.get("x/2") is None
    assert refs.rejection("x/2") is None
    assert not any(part.is_read for part in records.parts)


def test_levels_and_searches_skip_what_is_absent(store: Path) -> None:
    refs = rx.open_references(store)
    names = [row.name for row in refs.children("x").rows]
    assert names == [".zarray", "0", "1", "3", "4", "5", "7", "8", "9", "11"]
    assert list(refs.find("x/1*")) == ["x/1", "x/11"]
    assert list(refs.find("y*")) == []
    assert list(refs.find("", mode="substring", kind="inline")) == ["x/.zarray"]
    for place, name in enumerate(names):
        assert refs.position(f"x/{name}") == place
    assert refs.summary("x").missing == 3


def test_columns_that_break_after_they_were_counted_leave_the_others(store: Path) -> None:
    path = store / "x" / "refs.1.parq"
    whole = path.read_bytes()
    path.write_bytes(b"PAR1" + b"\xff" * 200 + whole[204:])
    refs = rx.open_references(store)
    assert len(refs.children("x", 0, 50).rows) == 10
    assert [key for key in refs if key != "x/.zarray"] == [
        "x/0",
        "x/1",
        "x/3",
        "x/8",
        "x/9",
        "x/11",
    ]
    assert errors(refs) == [("parquet-unreadable", "x/refs.1.parq")]
    assert (refs.summary("x").missing, refs.summary("x").left_out) == (2, 4)
    with pytest.raises(KeyError):
        refs["x/4"]


def test_numbers_below_zero_are_left_out_and_noted(store: Path) -> None:
    write_records(store / "x" / "refs.2.parq", offset=-1)
    refs = rx.open_references(store)
    assert list(refs)[-1] == "x/7"
    assert refs.get("x/8") is None
    assert errors(refs) == [("bad-offset", "x/refs.2.parq")]
    assert refs.chunk_grid("x").states.tolist()[-4:] == [0, 0, 0, 0]
    assert refs.summary("x").kinds[rx.types.Kind.RANGE] == 6


def test_many_missing_record_files_cost_nothing(store: Path) -> None:
    metadata = {"metadata": {"x/.zarray": {**ARRAY, "shape": [10**15]}}, "record_size": ROWS}
    (store / ".zmetadata").write_text(json.dumps(metadata))
    refs = rx.open_references(store)
    missing = [d for d in refs.diagnostics if d.code == "parquet-missing-file"]
    assert missing[0].pointer == "x/refs.3.parq"
    assert sum(found.count for found in missing) == 10**15 // ROWS - 3


def test_a_file_that_was_lost_is_distinguished_from_one_without_references(tmp_path: Path) -> None:
    """kerchunk writes no record file of which no chunk has a reference."""
    keys = {".zgroup": {"zarr_format": 2}, "x/.zarray": {**ARRAY, "shape": [24], "chunks": [1]}}
    full = {f"x/{n}": ["s3://b/f", n, 1] for n in range(24)}
    sparse = {key: value for n, (key, value) in enumerate(full.items()) if not 8 <= n < 15}

    def found(entries: dict[str, Any], *lost: int) -> list[tuple[str, str, int]]:
        store = tmp_path / f"{len(list(tmp_path.iterdir()))}.parq"
        rx.open_references({**keys, **entries}).to_parquet(store, record_size=4)
        for number in lost:
            (store / "x" / f"refs.{number}.parq").unlink()
        named = [each for each in rx.open_references(store).diagnostics if "-file" in each.code]
        return [(each.code, each.pointer, each.count) for each in named]

    assert found(full) == []
    assert found(full, 2, 3) == [("parquet-lost-file", "x/refs.2.parq", 2)]
    assert found(full, 0) == [("parquet-missing-file", "x/refs.0.parq", 1)]
    assert found(full, 4, 5) == [("parquet-missing-file", "x/refs.4.parq", 2)]
    assert found(sparse) == [("parquet-missing-file", "x/refs.2.parq", 1)]


def test_going_through_a_store_holds_no_more_than_a_file(store: Path) -> None:
    write_records(store / "x" / "refs.1.parq", offset=-1)
    refs = rx.open_references(store)
    (records,) = internals(refs).opened.segments
    assert isinstance(records, Records)
    kept = records.parts[2]
    assert refs["x/8"] == rx.types.Range("s3://b/0", 10, 5)
    for size in (3, 4, 100):
        found = [number for part in records.blocks(size) for number in part.numbers.tolist()]
        assert found == [0, 1, 3, 8, 9, 11]
        assert [part.is_read for part in records.parts] == [False, False, True]
    assert kept.is_read
    assert errors(refs) == [("bad-offset", "x/refs.1.parq")]
    assert refs.error_count == 3


_OPENED: list[str] = []
_hooks: list[object] = []


def _keep(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and str(arguments[0]).endswith(".parq"):
        _OPENED.append(Path(str(arguments[0])).name)


@pytest.fixture
def opened_files() -> list[str]:
    """The record files that this process opens from now on: footer and columns are one each."""
    if not _hooks:  # one cannot be taken away again
        sys.addaudithook(_keep)
        _hooks.append(_keep)
    _OPENED.clear()
    return _OPENED


@pytest.mark.parametrize("kept", [0, 10**6])
@pytest.mark.parametrize(
    "question",
    [
        lambda refs: refs.diagnostics,
        lambda refs: refs.targets(),
        lambda refs: (refs.diagnostics, internals(refs).array_states),
    ],
)
def test_one_pass_over_record_files_serves_every_question(
    store: Path,
    question: Callable[[rx.ReferenceSet], object],
    kept: int,
    opened_files: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("refexplorer.refset.opened_set._KEPT", kept)
    for number in range(3):  # places that no array has are looked for in a second pass
        write_records(store / "x" / f"refs.{number}.parq", ["s3://b/0"] * ROWS)
    refs = rx.open_references(store)
    question(refs)
    found = Counter(opened_files)
    assert found.keys() == {f"refs.{n}.parq" for n in range(3)}
    assert max(found.values()) <= 2


def test_a_file_of_a_set_is_read_from_the_record_files_that_name_it(
    store: Path, opened_files: list[str]
) -> None:
    write_records(store / "x" / "refs.1.parq", [None, "s3://b/only", "s3://b/0", None], 40)
    refs = rx.open_references(store)
    found = {each.url: each for each in refs.targets()}
    assert (found["s3://b/0"].ranges, found["s3://b/0"].bytes, found["s3://b/0"].end) == (3, 10, 45)
    opened_files.clear()
    layout = refs.layout("s3://b/only")
    assert (layout.keys(), layout.arrays, opened_files) == (["x/5"], ("x",), ["refs.1.parq"])
    assert internals(refs).target_index.shared_counts == {}


def test_a_chunk_in_the_metadata_hides_its_row(store: Path) -> None:
    metadata = {"x/.zarray": ARRAY, "x/5": "abcd", "x/6": "only here", "x/y/5": "no chunk"}
    (store / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": ROWS}))
    refs = rx.open_references(store)
    assert len(refs) == len(list(refs)) == len(set(refs)) == 4 + 8
    assert refs["x/5"] == rx.types.Inline("abcd")
    assert refs.to_v0()["x/5"] == "abcd"
    assert list(refs.find("x/5")) == ["x/5"]
    (found,) = (d for d in refs.diagnostics if d.code == "duplicate-key")
    assert (found.pointer, found.key, found.count) == ("x/refs.1.parq", "x/5", 1)
    rx.convert(store, store / "out.json")
    assert rx.open_references(store / "out.json").to_v0() == refs.to_v0()


def test_a_chunk_of_the_root_array_in_the_metadata_hides_its_row(tmp_path: Path) -> None:
    metadata = {".zarray": ARRAY, "1": "abcd", "99": "no chunk"}
    (tmp_path / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": ROWS}))
    write_records(tmp_path / "refs.0.parq")
    refs = rx.open_references(tmp_path)
    assert list(refs)[0::2] == [".zarray", "99", "3"]
    assert len(refs) == 5
    (found,) = (d for d in refs.diagnostics if d.code == "duplicate-key")
    assert (found.key, found.count) == ("1", 1)


@pytest.mark.parametrize(
    ("attributes", "codes"),
    [({}, ["array-without-references"]), ({"grid_mapping_name": "mercator"}, [])],
)
def test_an_array_without_records_is_as_one_without_references(
    attributes: dict[str, str], codes: list[str], store: Path
) -> None:
    """kerchunk writes no record files for a grid mapping, of which joining makes several values."""
    metadata = {"x/.zarray": ARRAY, "x/.zattrs": {"_ARRAY_DIMENSIONS": ["x"], **attributes}}
    metadata[".zgroup"] = {"zarr_format": 2}
    (store / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": ROWS}))
    for each in (store / "x").iterdir():
        each.unlink()
    found = rx.open_references(store).diagnostics
    assert [each.code for each in found if each.severity != "info"] == codes


@pytest.mark.parametrize(
    "question", [lambda refs: refs.diagnostics, lambda refs: internals(refs).target_index]
)
def test_a_question_about_every_reference_can_be_watched_and_stopped(
    store: Path, question: Callable[[rx.ReferenceSet], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refexplorer.refset.opened_set._KEPT", 0)
    seen: list[tuple[int, int]] = []

    def stop(done: int, of: int) -> None:
        seen.append((done, of))
        if done == 2:
            raise rx.RefexplorerError("stopped")

    refs = rx.open_references(store)
    with watched(stop), pytest.raises(rx.RefexplorerError, match="stopped"):
        question(refs)
    assert seen[-1] in ((2, 3), (2, 4))
    (records,) = internals(refs).opened.segments
    assert isinstance(records, Records)
    assert not any(part.is_read for part in records.parts)
    question(refs)
    assert errors(refs) == errors(rx.open_references(store))


def test_chunks_of_an_unreadable_record_file_are_not_fill_values(store: Path) -> None:
    (store / "x" / "refs.1.parq").write_bytes(b"no parquet")
    text = str(rx.open_references(store).check_targets())
    assert "read as the fill value" not in text
    assert "0 missing and 1 unreadable: " in text


def test_record_files_of_another_record_size(store: Path) -> None:
    """Readers would take the rows for those of other chunks."""
    metadata = {"metadata": {"x/.zarray": ARRAY}, "record_size": ROWS + 1}
    (store / ".zmetadata").write_text(json.dumps(metadata))
    found = rx.open_references(store).check().findings
    few = [each.message for each in found if each.code == "parquet-too-few-rows"]
    assert [message.split("`")[1] for message in few] == ["x/refs.0.parq", "x/refs.1.parq"]
