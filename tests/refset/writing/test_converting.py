"""A set in another form or with other targets: right when it is there, and else not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.reference import LazyReferenceMapper

import refexplorer as rx
from refexplorer.refset.arrays import arrays_of
from refexplorer.refset.opened_set import internals
from refexplorer.refset.writing.parquet import write_parquet
from tests.helpers.sets import V0


def converted(source: object, output: Path, **how: Any) -> rx.ReferenceSet:
    """Convert, and open what was written."""
    keys = rx.convert(source, output, rx.Conversion(**how))
    refs = rx.open_references(output)
    assert refs.count == keys
    assert sorted(path.name for path in output.parent.iterdir() if "partial" in path.name) == []
    return refs


@pytest.mark.parametrize("source", ["sst.v0.json", "sst.v1.json", "sst.parq"])
@pytest.mark.parametrize(
    ("name", "form"),
    [("a.json", None), ("a.json.gz", "v0"), ("a.json.zst", "v1"), ("a.parq", None)],
)
def test_every_form_into_every_form(
    source: str, name: str, form: str | None, demo: Path, tmp_path: Path
) -> None:
    refs = converted(demo / source, tmp_path / name, form=form)
    assert refs.source.form == {"v0": "V0", "v1": "V1", None: refs.source.form}[form]
    assert not rx.diff(demo / source, refs)


@pytest.mark.filterwarnings("ignore:The 'fastparquet' engine")
@pytest.mark.parametrize("name", ["a.json", "a.json.zst", "a.parq"])
def test_fsspec_reads_the_same_references(name: str, tmp_path: Path) -> None:
    refs = converted(V0, tmp_path / name)
    if name == "a.parq":
        theirs: Any = LazyReferenceMapper(str(tmp_path / name), fs=fsspec.filesystem("file"))
    else:
        if name.endswith(".zst") and "zstd" not in fsspec.available_compressions():
            pytest.skip("this fsspec does not decompress zstd")
        options = {"compression": "infer"}
        with fsspec.open(str(tmp_path / name), "rb", **options) as file:
            theirs = fsspec.filesystem("reference", fo=json.load(file), fs={}).references
    for key, reference in refs.items():
        if isinstance(reference, rx.types.Url | rx.types.Range):
            assert list(theirs[key]) == reference.to_v0()


def test_targets_are_renamed(tmp_path: Path) -> None:
    rules = [("s3://b/f1", "https://h/one"), ("s3://b/", "https://h/")]
    refs = converted(V0, tmp_path / "a.json", renames=rules)
    assert refs["g/t/0.0"] == rx.types.Range("https://h/one", 10, 20)
    assert refs["g/t/0.2"] == rx.types.Url("https://h/f2")
    with pytest.raises(rx.RefexplorerError, match="No URL of dict starts with 'gs://'"):
        converted(V0, tmp_path / "b.json", renames=[("gs://", "s3://")])
    assert not (tmp_path / "b.json").exists()


def test_absolute_and_relative(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"x": ["d/f.nc"], "y": ["s3://b/f.nc"]}))
    refs = converted(tmp_path / "a.json", tmp_path / "b.json", absolute=True)
    assert refs["x"] == rx.types.Url(f"{tmp_path.resolve()}/d/f.nc")
    again = converted(tmp_path / "b.json", tmp_path / "c.json", relative=True)
    assert dict(again) == {"x": rx.types.Url("d/f.nc"), "y": rx.types.Url("s3://b/f.nc")}


def test_small_ranges_go_in_and_come_out(tmp_path: Path) -> None:
    (tmp_path / "d.bin").write_bytes(b"abcdefgh")
    source = {"x": ["d.bin", 0, 2], "y": ["d.bin", 2, 6], ".zattrs": "{}"}
    (tmp_path / "a.json").write_text(json.dumps(source))
    refs = converted(tmp_path / "a.json", tmp_path / "b.json", inline=5)
    assert dict(refs) == {
        "x": rx.types.Inline("ab"),
        "y": rx.types.Range("d.bin", 2, 6),
        ".zattrs": rx.types.Inline("{}"),
    }
    out = converted(tmp_path / "b.json", tmp_path / "c.json", outline=tmp_path / "data.bin")
    assert out["x"] == rx.types.Range("data.bin", 0, 2)
    assert out["x"] != refs["x"]
    assert rx.diff(refs, out, read=True).counts == {"same": 2, "embedded": 1}
    far = {"x": ["s3://bucket/d", 0, 2]}
    with pytest.raises(rx.errors.AccessError, match="s3://bucket"):
        rx.convert(far, tmp_path / "d.json", rx.Conversion(inline=5))
    assert not (tmp_path / "d.json").exists()


def test_metadata_as_objects(tmp_path: Path) -> None:
    source = {".zattrs": '{"a": 1}', "x/.zattrs": '{"b": NaN}', "x/0": '{"a": 1}'}
    converted(source, tmp_path / "a.json", objects=True)
    written = json.loads((tmp_path / "a.json").read_text())
    assert written == source | {".zattrs": {"a": 1}}
    converted(tmp_path / "a.json", tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text())[".zattrs"] == '{"a":1}'


def test_an_output_is_never_replaced_by_accident(demo: Path, tmp_path: Path) -> None:
    source, other = tmp_path / "a.json", tmp_path / "b.parq"
    source.write_text(json.dumps(V0))
    for how in (rx.Conversion(), rx.Conversion(overwrite=True)):
        with pytest.raises(rx.errors.SourceError, match="is the source"):
            rx.convert(source, source, how)
    rx.convert(source, other)
    with pytest.raises(rx.errors.SourceError, match="exists"):
        rx.convert(demo / "sst.v0.json", other)
    rx.convert(demo / "sst.v0.json", other, rx.Conversion(overwrite=True))
    assert not rx.diff(demo / "sst.v0.json", other)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.parq"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(rx.RefexplorerError, match="exists"):
        rx.convert(source, tmp_path / "folder", rx.Conversion(form="parquet", overwrite=True))


def test_what_stops_before_the_end_leaves_nothing(tmp_path: Path) -> None:
    def stopping(blocks: Any, total: int, step: str) -> Any:
        yield from blocks
        if step == "Checking":
            raise KeyboardInterrupt

    for name in ("a.json", "a.json.gz", "a.parq"):
        with pytest.raises(KeyboardInterrupt):
            rx.convert(V0, tmp_path / name, rx.Conversion(watch=stopping))
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_read_back_is_not_kept(tmp_path: Path) -> None:
    calls = []

    def forgetful(blocks: Any, total: int, step: str) -> Any:
        calls.append(step)
        yield from list(blocks)[: 0 if step == "Writing" else None]

    for name in ("a.json", "a.parq"):
        with pytest.raises(rx.RefexplorerError, match="does not read back"):
            rx.convert(V0, tmp_path / name, rx.Conversion(watch=forgetful))
    assert list(tmp_path.iterdir()) == []
    assert calls[:2] == ["Writing", "Checking"]


def test_a_store_does_not_leave_its_folder(tmp_path: Path) -> None:
    refs = rx.open_references({"../x/.zarray": V0["s/.zarray"], "../x/0": ["s3://b/f"]})
    table = internals(refs).opened.table
    with pytest.raises(rx.RefexplorerError, match="points outside the store"):
        write_parquet([table], arrays_of(table), tmp_path / "in" / "store.parq", 10)
    assert not (tmp_path / "in" / "x").exists()
    assert not (tmp_path / "x").exists()


def test_a_key_called_version_cannot_be_v0(tmp_path: Path) -> None:
    document = {"version": 1, "refs": {"version": "1"}}
    with pytest.raises(rx.RefexplorerError, match="`version` cannot be written as V0"):
        rx.convert(document, tmp_path / "a.json")
    assert dict(converted(document, tmp_path / "b.json", form="V1")) == {
        "version": rx.types.Inline("1")
    }
