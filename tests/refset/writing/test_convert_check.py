"""What was converted is read back: whatever became of it on disk, no difference passes."""

from __future__ import annotations

import json
import random
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings

import refexplorer as rx
from refexplorer.formats.columns.table import Table
from tests.helpers.sets import V0

Spoil = Callable[[Path], object]
STRIDE = max(1, 100 // settings().max_examples)
"""The quick tests spoil one of so many bytes."""
FORMS = [("a.json", "V0"), ("a.json.gz", "V0"), ("a.json.zst", "V0"), ("a.json", "V1")]


def convert_spoiled(source: object, output: Path, form: str | None, spoil: Spoil) -> int:
    """Convert, and do something to the output when the check of it begins."""

    def watch(blocks: Any, total: int, step: str) -> Any:
        if step == "Checking":
            spoil(output.with_name(output.name + ".partial"))
        return blocks

    return rx.convert(source, output, rx.Conversion(form=form, watch=watch, record_size=4))


def many_arrays(small: int = 30) -> dict[str, Any]:
    """Make small and two large arrays of all kinds of references, mixed."""
    found: dict[str, Any] = {}
    for number, chunks in enumerate([3] * small + [400, 700]):
        array = json.loads(json.dumps(V0["s/.zarray"])) | {"shape": [chunks], "chunks": [1]}
        found[f"a{number}/.zarray"] = json.dumps(array)
        for chunk in range(chunks):
            values = ([f"s3://b/{chunk % 7}", chunk * 10, 10], [f"s3://b/{number}"], "base64:AAE=")
            found[f"a{number}/{chunk}"] = values[0 if chunk % 5 else chunk % 3]
    keys = list(found)
    random.Random(1).shuffle(keys)
    return {key: found[key] for key in keys if not key.endswith("/17")}


@pytest.mark.parametrize("record_size", [23, 1000])
def test_references_in_any_order_come_into_their_record_files(
    tmp_path: Path, record_size: int
) -> None:
    source = many_arrays()
    how = rx.Conversion(record_size=record_size)
    assert rx.convert(source, tmp_path / "a.parq", how) == len(source)
    assert not rx.diff(source, tmp_path / "a.parq")
    assert rx.convert(tmp_path / "a.parq", tmp_path / "b.json") == len(source)
    assert not rx.diff(source, tmp_path / "b.json")


@pytest.mark.parametrize("shape", [[2**40, 2**40], [5 * 10**18, 1]])
def test_chunks_that_no_store_can_number_are_refused(tmp_path: Path, shape: list[int]) -> None:
    array = V0["s/.zarray"] | {"shape": shape, "chunks": [1, 1]}
    source = {"x/.zarray": array, f"x/{shape[0] - 1}.0": ["s3://b/f", 0, 9]}
    with pytest.raises(rx.RefexplorerError, match=r"`x` has [0-9,]+ chunks, too many"):
        rx.convert(source, tmp_path / "a.parq")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.parq"])
def test_of_equal_keys_the_last_one_is_converted(tmp_path: Path, name: str) -> None:
    entries = [f'"{key}": {json.dumps(value)}' for key, value in many_arrays(90).items()]
    again = [f'"a91/{n}": ["s3://other", {n}, 5]' for n in range(0, 600, 3) if n != 17]
    text = "{" + ", ".join(entries[:900] + again + entries[900:] + again[:50] + again) + "}"
    (tmp_path / "source.json").write_text(text)
    assert len(text) > 2**16  # read in blocks
    wanted = json.loads(text)
    assert rx.convert(tmp_path / "source.json", tmp_path / name) == len(wanted)
    assert not rx.diff(wanted, tmp_path / name)


@pytest.mark.parametrize("form", ["V0", "V1"])
def test_no_other_byte_of_a_document_passes(tmp_path: Path, form: str) -> None:
    source = {key: V0[key] for key in (".zgroup", "s/0", "g/t/0.0", "g/t/0.2")}
    rx.convert(source, tmp_path / "good", rx.Conversion(form=form))
    plain = (tmp_path / "good").read_bytes()

    def spoil(text: bytes, path: Path) -> None:
        path.write_bytes(text)

    refused = 0
    places = range(0, len(plain), STRIDE)
    for place in places:
        text = plain[:place] + bytes([plain[place] ^ 1]) + plain[place + 1 :]
        try:
            convert_spoiled(source, tmp_path / "a.json", form, partial(spoil, text))
        except rx.RefexplorerError as error:
            assert "does not read back" in str(error)  # noqa: PT017
            refused += 1
        else:
            assert not rx.diff(source, tmp_path / "a.json")  # said in other words
            (tmp_path / "a.json").unlink()
        assert [path.name for path in tmp_path.iterdir()] == ["good"]
    assert refused > 0.9 * len(places)


@pytest.mark.parametrize(("name", "form"), FORMS)
@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: data + b"}", lambda _: b""]
)
def test_a_document_that_is_cut_or_goes_on_is_refused(
    tmp_path: Path, name: str, form: str, change: Callable[[bytes], bytes]
) -> None:
    def spoil(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    with pytest.raises(rx.RefexplorerError, match="does not read back"):
        convert_spoiled(many_arrays(), tmp_path / name, form, spoil)
    assert list(tmp_path.iterdir()) == []


def rewritten(path: Path, /, **columns: list[Any]) -> None:
    table = pq.read_table(path)
    for name, values in columns.items():
        place = table.column_names.index(name)
        field = table.schema.field(name)
        table = table.set_column(place, field, pa.array(values, field.type))
    pq.write_table(table, path)


SPOILED: dict[str, Spoil] = {
    "offset": lambda path: rewritten(path / "g/t/refs.0.parq", offset=[11, 0, 0, 0]),
    "size": lambda path: rewritten(path / "g/t/refs.0.parq", size=[0, 0, 0, 0]),
    "path": lambda path: rewritten(path / "g/t/refs.0.parq", path=["s3://b/f1"] * 4),
    "raw": lambda path: rewritten(path / "s/refs.0.parq", raw=[b"\0\1\2\4"]),
    "missing": lambda path: (path / "g/t/refs.0.parq").unlink(),
    "cut": lambda path: (path / "g/t/refs.0.parq").write_bytes(b"PAR1"),
    "swapped": lambda path: (path / "s/refs.0.parq").replace(path / "g/t/refs.0.parq"),
    "more": lambda path: rewritten(
        path / "g/t/refs.0.parq", path=["s3://b/f1", "s3://b/f9", "s3://b/f2", None]
    ),
    "stray": lambda path: (path / "g/t/refs.9.parq").write_bytes(b""),
}


@pytest.mark.parametrize("name", SPOILED)
def test_no_other_record_file_passes(tmp_path: Path, name: str) -> None:
    with pytest.raises(rx.RefexplorerError, match="does not read back"):
        convert_spoiled(V0, tmp_path / "a.parq", None, SPOILED[name])
    assert list(tmp_path.iterdir()) == []
    assert convert_spoiled(V0, tmp_path / "a.parq", None, lambda path: None) == len(V0)


def test_data_that_was_taken_out_is_read_back(tmp_path: Path) -> None:
    def watch(blocks: Any, total: int, step: str) -> Any:
        if step == "Checking":
            (tmp_path / "data.bin.partial").write_bytes(b"\0\1\2\3some tex_")
        return blocks

    how = rx.Conversion(outline=tmp_path / "data.bin", watch=watch)
    with pytest.raises(rx.RefexplorerError, match="inline data that was moved"):
        rx.convert(V0, tmp_path / "a.json", how)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.json", "a.parq"])
def test_targets_are_read_once(tmp_path: Path, name: str) -> None:
    target = tmp_path / "d.bin"
    target.write_bytes(bytes(range(100)))
    source = {".zgroup": V0[".zgroup"], "s/.zarray": V0["s/.zarray"], "s/0": ["d.bin", 7, 3]}
    (tmp_path / "source.json").write_text(json.dumps(source))

    def watch(blocks: Any, total: int, step: str) -> Any:
        if step == "Checking":
            target.unlink()
        return blocks

    rx.convert(tmp_path / "source.json", tmp_path / name, rx.Conversion(inline=5, watch=watch))
    assert rx.open_references(tmp_path / name)["s/0"] == rx.types.Base64("base64:BwgJ")


@pytest.mark.parametrize("name", ["a.json.zst", "a.parq"])
@pytest.mark.parametrize("kind", ["gen", "parquet"])
def test_few_blocks_are_held_at_once(tmp_path: Path, name: str, kind: str) -> None:
    chunks = 210_000
    array = V0["s/.zarray"] | {"shape": [chunks], "chunks": [1]}
    item = {"key": "x/{{i}}", "url": "s3://b/{{i // 1000}}", "offset": "{{i}}", "length": "9"}
    document = {
        "version": 1,
        "gen": [item | {"dimensions": {"i": {"stop": chunks}}}],
        "refs": {"x/.zarray": array},
    }
    source = rx.open_references(document)
    if kind == "parquet":
        source.to_parquet(tmp_path / "source.parq", record_size=50_000)
        source = rx.open_references(tmp_path / "source.parq")
    blocks: list[weakref.ref[Table]] = []

    def watch(tables: Iterable[Table], total: int, step: str) -> Iterator[Table]:
        for table in tables:
            blocks.append(weakref.ref(table))
            assert sum(block() is not None for block in blocks) <= 2
            yield table

    assert rx.convert(source, tmp_path / name, rx.Conversion(watch=watch)) == chunks + 1
    assert len(blocks) >= 2 * chunks // 100_000
