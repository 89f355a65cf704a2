"""A source may be a path, URL, dict, text or bytes; each failure is one sentence."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import fsspec
import pytest
import zstandard

import refexplorer as rx

SET = {"version": 1, "templates": {"u": "http://h"}, "refs": {"a": "x", "b": ["{{u}}/f", 1, 2]}}
TEXT = json.dumps(SET)
V0 = {"a": "x", "b": ["http://h/f", 1, 2]}


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        gzip.compress(TEXT.encode()),
        zstandard.ZstdCompressor().compress(TEXT.encode()),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16"),
    ],
    ids=["plain", "gzip", "zstd", "bom", "utf-16"],
)
def test_content_shows_the_form_not_the_name(data: bytes, tmp_path: Path) -> None:
    path = _write(tmp_path / "misnamed.txt", data)
    memory = fsspec.filesystem("memory")
    memory.pipe("/sources/misnamed.txt", data)
    for source in (data, path, str(path), "memory://sources/misnamed.txt"):
        assert rx.open_references(source).to_v0() == V0


@pytest.mark.parametrize("source", [SET, TEXT, "\n " + TEXT, "\ufeff" + TEXT, "\ufeff\n" + TEXT])
def test_a_value_is_opened_as_it_is(source: Any) -> None:
    refs = rx.open_references(source)
    assert refs.to_v0() == V0
    assert refs.source.form == "V1"
    assert refs.source.location is None


def test_relative_targets_belong_to_the_folder_of_the_file(tmp_path: Path) -> None:
    path = _write(tmp_path / "set.json", TEXT.encode())
    assert rx.open_references(path).source.location == str(tmp_path.resolve())


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("missing.json", "There is no file 'missing.json' in '"),
        ("", "The path is empty; pass that of a reference set or data file, such as"),
        (b"", "bytes is empty."),
        (b"\x1f\x8b damaged", "damaged gzip"),
        (b"\x28\xb5\x2f\xfd damaged", "damaged zstd"),
        ("memory://nowhere/at/all.json", "cannot be read: there is no such file"),
        ("unknown://host/file", "unknown://host/file cannot be read"),
        (b"\xff\xfe\x00", "not text"),
        (b"{\xe9}", "not text: byte 1"),
        (42, "not from int"),
        ("<!DOCTYPE html><html></html>", "HTML"),
        ("{'a': 1}", "line 1:2"),
        ('{"a": 1,\n "b": }', "line 2:7"),
        ("[" * 1000 + "]" * 1000, "Limits.json_depth"),
    ],
)
def test_a_source_that_cannot_be_read_gets_one_sentence(source: Any, words: str) -> None:
    with pytest.raises(rx.errors.SourceError) as refusal:
        rx.open_references(source)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_folder_that_is_no_store_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(
        rx.errors.SourceError, match="not a reference set in parquet, Zarr or Icechunk"
    ):
        rx.open_references(tmp_path)


def test_a_compressed_bomb_stops_at_the_limit() -> None:
    limits = rx.Limits(document_bytes=1_000_000)
    for bomb in (gzip.compress(bytes(50_000_000)), zstandard.compress(bytes(50_000_000))):
        with pytest.raises(rx.errors.LimitError, match=r"Limits\.document_bytes"):
            rx.open_references(bomb, limits=limits)


def test_a_deep_document_is_refused_however_long_it_is() -> None:
    text = '{"a": "' + "x" * 2**20 + '", "b": ' + "[" * 100_000 + "]" * 100_000 + "}"
    with pytest.raises(rx.errors.SpecError):
        rx.open_references(text)
    assert sys.getrecursionlimit() < 100_000


def test_a_list_of_sets_offers_the_choice(tmp_path: Path) -> None:
    path = _write(tmp_path / "many.json", json.dumps([{"a": "x"}, SET, {"b": [1]}]).encode())
    with pytest.raises(rx.errors.SpecError, match=r"list of 3 reference sets.*'many\.json#0'"):
        rx.open_references(path)
    assert rx.open_references(f"{path}#1").to_v0() == V0
    found, nothing = rx.open_references(f"{path}#2").diagnostics
    assert nothing.code == "no-references"
    assert (found.pointer, found.line) == ("/b", 1)
    assert path.read_text()[(found.column or 0) - 1 :].startswith("[1]")
    with pytest.raises(rx.errors.SpecError, match="no number 3"):
        rx.open_references(f"{path}#3")


def test_a_long_document_is_held_to_the_same_depth() -> None:
    refs = {f"x/{n}": ["u", n * 100, 100] for n in range(4000)}
    deep = {"d": {"a": json.loads("[" * 300 + "]" * 300)}}
    with pytest.raises(rx.errors.SpecError, match="nested more than 200 levels"):
        rx.open_references(json.dumps({"version": 1, "refs": refs | deep}).encode())
