"""A chunk whose reference cannot be used never looks like one that has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refexplorer as rx
from refexplorer.io.reading.readings import ChunkState
from tests.helpers.sets import raw_set, x_of

ROOM = {"note": "." * 2**16}
"""Makes a document so long that it is read in blocks."""


def opened(*references: Any, **more: Any) -> rx.ReferenceSet:
    """A V1 set with these references of an array, as text."""
    return rx.open_references(json.dumps({"version": 1, "refs": raw_set(*references) | more}))


@pytest.mark.parametrize("more", [{}, ROOM], ids=["short", "long"])
def test_a_chunk_whose_reference_is_refused_has_failed(more: dict[str, Any]) -> None:
    refs = opened(None, ["u", -1, 4], ["{{ nothing }}/u", 0, 4], **more)
    found = [refs.chunk("x", (index,)) for index in range(3)]
    assert [each.state for each in found] == [ChunkState.FILL, ChunkState.FAILED, ChunkState.FAILED]
    assert [each.values is None for each in found] == [False, True, True]
    assert [str(each.state) for each in map(refs.trace, ("x/0", "x/1", "x/2"))] == [
        "fill",
        "failed",
        "failed",
    ]
    for said in (found[1].message, refs.trace("x/1").message):
        assert said is not None
        assert 'bad-offset at refs["x/1"]: The offset -1 is negative.' in said
    assert "nothing" in str(found[2].message)


def test_reading_a_refused_reference_fails_also_through_zarr() -> None:
    refs = opened(["u", -1, 4], None)
    with pytest.warns(rx.errors.LeftOutWarning, match=r"1 error\."):
        x = x_of(refs, "/")
    assert np.array_equal(np.asarray(x[2:4]), [-1, -1])
    with pytest.raises(rx.errors.FetchError, match="The offset -1 is negative"):
        x[:2]


@pytest.mark.parametrize("name", [".zattrs", ".zarray"])
def test_refused_metadata_fails_also_through_zarr(name: str) -> None:
    """Without its attributes an array would be read unscaled, and nobody would notice."""
    refs = opened("text", **{f"x/{name}": ["u", -1, 4]})
    for read in (lambda: refs.to_zarr()["x"], refs.to_xarray):  # type: ignore[index]
        with (
            pytest.warns(rx.errors.LeftOutWarning),
            pytest.raises(rx.errors.FetchError, match=rf"x/{name} .* The offset -1 is negative"),
        ):
            read()


def test_any_key_of_the_source_shows_why_it_is_not_there() -> None:
    refs = opened(["u", -1, 4], **{"note": ["a", "b"], "good": "text"})
    error = refs.rejection("note")
    assert error is not None
    assert (error.code, error.pointer, error.key) == ("bad-ref-shape", "/refs/note", "note")
    assert refs.trace("note").state is ChunkState.FAILED
    assert refs.rejection("good") is refs.rejection("nowhere") is None
    with pytest.raises(KeyError):
        refs.trace("nowhere")


def test_more_keys_are_left_out_than_diagnostics_list() -> None:
    refs = rx.open_references(raw_set(*[["u", -1, 4]] * 30, shape=[60]))
    assert refs.chunk("x", (29,)).state is ChunkState.FAILED


def test_of_equal_keys_the_last_one_decides() -> None:
    bad, good = '"x/0": ["u", -1, 4]', '"x/0": "base64:AAEAAg=="'
    text = json.dumps(raw_set(None) | ROOM)[1:-1]
    states = [
        rx.open_references(f"{{{text}, {first}, {last}}}").chunk("x", (0,)).state
        for first, last in ((bad, good), (good, bad))
    ]
    assert states == [ChunkState.FETCHED, ChunkState.FAILED]


def test_a_chunk_that_a_gen_item_makes_again_is_there() -> None:
    item = {"key": "x/{{i}}", "url": "u", "dimensions": {"i": [0]}}
    text = json.dumps({"version": 1, "refs": raw_set(["u", -1, 4]), "gen": [item]})
    assert rx.open_references(text).rejection("x/0") is None


def test_a_generated_chunk_whose_template_fails_has_failed() -> None:
    item = {
        "key": "x/{{i}}", "url": "u", "offset": "{{1000 + 100 // (i - 500)}}", "length": "4",
        "dimensions": {"i": {"stop": 999}},
    }  # fmt: skip
    refs = rx.open_references(
        {"version": 1, "refs": raw_set(None, shape=[2000]), "gen": [item]},
    )
    found = refs.chunk("x", (500,))
    assert found.state is refs.trace("x/500").state is ChunkState.FAILED
    assert 'gen[0]["offset"]: gen[0] generates this key, but its `offset` fails' in str(
        found.message
    )
    assert refs.chunk("x", (999,)).state is ChunkState.FILL


def test_no_chunk_of_a_gen_item_that_was_refused_looks_as_if_it_never_was() -> None:
    item = {
        "key": "x/{{i}}", "url": "u", "offset": "{{4 // i}}", "length": "4",
        "dimensions": {"i": [0, 1, 3]},
    }  # fmt: skip
    refs = rx.open_references(
        {"version": 1, "refs": raw_set(None, "text", shape=[8]), "gen": [item]}
    )
    found = [refs.chunk("x", (index,)) for index in range(4)]
    states = [ChunkState.FAILED, ChunkState.FETCHED, ChunkState.FILL, ChunkState.FAILED]
    assert [each.state for each in found] == states
    assert 'gen[0]["offset"]: gen[0] would generate this key, but the item is rejected' in str(
        found[3].message
    )
    assert refs.chunk_grid("x").left_out.indices.tolist() == [[0], [3]]


@pytest.mark.parametrize("below", ["", "x"])
def test_what_was_left_out_is_not_counted_as_missing(below: str) -> None:
    refused = {
        "key": "x/{{i}}", "url": "u", "offset": "{{4 // i}}", "length": "4",
        "dimensions": {"i": [0, 3]},
    }  # fmt: skip
    failing = {
        "key": "x/{{i}}", "url": "u", "offset": "{{1000 + 100 // (i - 500)}}", "length": "4",
        "dimensions": {"i": {"start": 5, "stop": 999}},
    }  # fmt: skip
    raw = raw_set("text", ["u", -1, 4], shape=[2000])
    refs = rx.open_references({"version": 1, "refs": raw, "gen": [refused, failing]})
    summary = refs.summary(below)
    assert summary.left_out == len({1, 3, 500})
    assert summary.missing == 1000 - len([*range(5, 999), 0, 1, 3])
    said = next(each for each in refs.diagnostics if each.code == "missing-chunks")
    assert f"{summary.missing} of 1,000 chunks" in said.message


def test_a_chunk_whose_row_has_a_bad_number_has_failed(tmp_path: Path) -> None:
    rx.open_references(raw_set(["u", 1, 4], None, ["u", 2, 4])).to_parquet(tmp_path / "refs")
    file = tmp_path / "refs" / "x" / "refs.0.parq"
    table = pq.read_table(file)
    offsets = pa.array([1, 0, -2] + [0] * (len(table) - 3))
    pq.write_table(table.set_column(1, "offset", offsets), file)
    refs = rx.open_references(tmp_path / "refs")
    found = refs.chunk("x", (2,))
    assert found.state is refs.trace("x/2").state is ChunkState.FAILED
    assert "bad-offset at x/refs.0.parq: The offset of row 2" in str(found.message)
    assert refs.chunk("x", (1,)).state is ChunkState.FILL


def test_chunks_of_a_record_file_that_cannot_be_read_have_failed(tmp_path: Path) -> None:
    rx.open_references(raw_set(["u", 1, 4], None)).to_parquet(tmp_path / "refs")
    (tmp_path / "refs" / "x" / "refs.0.parq").write_bytes(b"<html>not found</html>")
    refs = rx.open_references(tmp_path / "refs")
    found = [refs.chunk("x", (index,)) for index in (0, 1)]
    assert [each.state for each in found] == [ChunkState.FAILED] * 2
    assert "x/refs.0.parq" in str(found[0].message)
    assert refs.chunk_grid("x").left_out.indices.tolist() == [[0], [1], [2]]
    assert (refs.summary().missing, refs.summary().left_out) == (0, 3)
