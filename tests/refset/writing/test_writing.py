"""What is written reads back to the same references, by us and by fsspec."""

from __future__ import annotations

import json
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.reference import LazyReferenceMapper

import refexplorer as rx
from tests.helpers.sets import ARRAY, V0


@pytest.mark.parametrize("record_size", [1, 4, 1000])
@pytest.mark.filterwarnings("ignore:The 'fastparquet' engine")
def test_a_parquet_store_reads_back_to_the_same_references(
    tmp_path: Path, record_size: int
) -> None:
    refs = rx.open_references(V0)
    refs.to_parquet(tmp_path / "store.parq", record_size=record_size)
    again = rx.open_references(tmp_path / "store.parq")
    assert dict(again) == dict(refs)
    theirs = LazyReferenceMapper(str(tmp_path / "store.parq"), fs=fsspec.filesystem("file"))
    for key, reference in refs.items():
        if isinstance(reference, rx.types.Url | rx.types.Range):
            assert theirs[key] == reference.to_v0()
        elif ".z" not in key:
            assert isinstance(reference, rx.types.Inline | rx.types.Base64)
            assert theirs[key] == reference.data
    with pytest.raises(KeyError):
        theirs["g/t/1.1"]


def test_what_a_store_cannot_hold_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    for extra, words in (
        ({"README": "hello"}, "`README` is neither metadata nor a chunk"),
        ({"g/t/9.9": ["s3://b/f"]}, "`g/t/9.9` is neither"),
        ({"g/t/1.1": [None, 0, 5]}, "has no URL"),
        ({".zattrs": "not json"}, "`.zattrs` is not a JSON object"),
    ):
        with pytest.raises(rx.RefexplorerError, match=words.replace(".", r"\.")):
            rx.open_references({**V0, **extra}).to_parquet(tmp_path / "store.parq")
        assert list(tmp_path.iterdir()) == []
    (tmp_path / "there").mkdir()
    with pytest.raises(rx.RefexplorerError, match="exists"):
        rx.open_references(V0).to_parquet(tmp_path / "there")


def test_json_reads_back_to_the_same_set(tmp_path: Path) -> None:
    refs = rx.open_references({**V0, "é": "ü", "o": {"a": float("nan")}})
    refs.to_json(tmp_path / "set.json")
    assert dict(rx.open_references(tmp_path / "set.json")) == dict(refs)
    assert [path.name for path in tmp_path.iterdir()] == ["set.json"]


@pytest.mark.parametrize(
    "items",
    [
        [("x/{{i % 1000}}", 100_010)],
        [("x/{{i}}", 100_010), ("x/{{i + 100000}}", 50)],
    ],
)
def test_keys_that_are_too_many_to_compare_are_written_once(
    items: list[tuple[str, int]], tmp_path: Path
) -> None:
    gen = [
        {"key": key, "url": f"h{number}/{{{{i}}}}", "dimensions": {"i": {"stop": stop}}}
        for number, (key, stop) in enumerate(items)
    ]
    refs = rx.open_references({"version": 1, "gen": gen})
    refs.to_json(path := tmp_path / "refs.json")
    text, v0 = path.read_text(), refs.to_v0()
    assert json.loads(text) == v0
    assert text.count('"x/') == len(v0)


def test_half_a_surrogate_pair_in_metadata_is_written_escaped(tmp_path: Path) -> None:
    refs = rx.open_references({".zattrs": '{"a": "\\ud800"}'})
    refs.to_parquet(tmp_path / "out.parq")
    written = rx.open_references(tmp_path / "out.parq")[".zattrs"]
    assert isinstance(written, rx.types.Inline)
    assert json.loads(written.text) == {"a": "\ud800"}


def test_an_array_that_no_folder_can_be_named_after_is_refused(tmp_path: Path) -> None:
    array = {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<i4", "compressor": None}
    array |= {"filters": None, "order": "C", "fill_value": 0}
    refs = rx.open_references({"x\0y/.zarray": array, "x\0y/0": ["http://h/f", 0, 4]})
    with pytest.raises(rx.RefexplorerError, match="is not a valid folder name"):
        refs.to_parquet(tmp_path / "out.parq")
    assert not any(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:The 'fastparquet' engine")
def test_chunks_that_fsspec_does_not_find_in_a_store_are_warned_of(tmp_path: Path) -> None:
    slashes = {**ARRAY, "dimension_separator": "/"}
    lost = {"a/.zarray": slashes, "b/.zarray": slashes, "b/0/0": ["s3://b/f"], "c/.zarray": slashes}
    with pytest.warns(
        rx.errors.LeftOutWarning, match="no chunk of `b` in a parquet store.* slashes;"
    ):
        rx.open_references({**V0, **lost}).to_parquet(tmp_path / "out.parq")
    refs = rx.open_references(tmp_path / "out.parq")
    noted = [found for found in refs.diagnostics if found.code == "parquet-lost-chunks"]
    assert [found.key for found in noted] == ["a/.zarray", "b/.zarray", "c/.zarray"]
    theirs = LazyReferenceMapper(str(tmp_path / "out.parq"), fs=fsspec.filesystem("file"))
    assert "g/t/0.0" in theirs
    assert "b/0/0" not in theirs
