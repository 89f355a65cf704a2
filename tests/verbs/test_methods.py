"""The methods of a set do as the functions; what is not there, and results, read well."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from refexplorer import demo

V0, V1 = demo.path("sst.v0.json"), demo.path("sst.v1.json")


def test_methods_do_as_the_functions(tmp_path: Path) -> None:
    refs = rx.open_references(V0)
    assert refs.diff(V1).counts == rx.diff(V0, V1).counts
    assert refs.infer().document == rx.infer(V0).document
    assert refs.convert(tmp_path / "out.parq") == rx.convert(V0, tmp_path / "other.parq")
    assert refs.convert(tmp_path / "out.json", form="v1", overwrite=False) == refs.count
    assert rx.open_references(tmp_path / "out.json").source.form == "V1"
    refs.convert(tmp_path / "plain.json", form="v1", explicit=True)
    plain = json.loads((tmp_path / "plain.json").read_text())
    assert ({*plain}, plain["refs"]) == ({"version", "refs"}, refs.to_v0())
    how = rx.Conversion(renames=[("sst_", "s3://b/sst_")])
    refs.convert(tmp_path / "moved.json", how, overwrite=True)
    assert any(
        "s3://b/" in str(each) for each in rx.open_references(tmp_path / "moved.json").values()
    )
    with pytest.raises(rx.RefexplorerError, match="record_size must be at least 1, not -1"):
        refs.convert(tmp_path / "x.parq", record_size=-1)
    with pytest.raises(TypeError, match="no option 'nosuch'; it has form, renames"):
        refs.convert(tmp_path / "x.json", nosuch=1)
    assert refs.explore(selection="sst").selection == "sst"
    assert refs.explore(part="chunks", selection="sst").part == "chunks"
    with pytest.raises(rx.RefexplorerError, match="no part 'nosuch'; use one of explorer"):
        refs.explore(part="nosuch")


def test_repair_is_a_method(tmp_path: Path) -> None:
    document = json.loads(V0.read_text())
    for key, value in document.items():
        if isinstance(value, list):
            value[0] = str(V0.parent / value[0])
            if key == "sst/0.0.0":
                value[1] += 1
    refs = rx.open_references(document).allowing(str(V0.parent))
    repaired = refs.repair(tmp_path / "good.json")
    assert repaired.good
    assert repaired.references["sst/0.0.0"].to_v0()[1] == document["sst/0.0.0"][1] - 1


@pytest.mark.child
def test_dialects_of_a_set_are_those_of_its_source() -> None:
    templates = {"m07": "s3://bucket/f.nc"}
    of_source = rx.dialects(V1, templates=templates, readers=["fsspec (default)"])
    refs = rx.open_references(V1, templates=templates)
    assert str(refs.dialects(readers=["fsspec (default)"])) == str(of_source)
    plain = rx.open_references(V1).dialects(readers=["fsspec (default)"])
    assert str(plain) == str(rx.dialects(V1, readers=["fsspec (default)"]))


@pytest.mark.parametrize("method", ["explain", "trace", "__getitem__"])
def test_an_array_in_place_of_a_key_is_told_apart_from_a_missing_key(method: str) -> None:
    with pytest.raises(KeyError, match=r"'sst' is an array.*refs\.read\('sst'\)"):
        getattr(rx.open_references(V0), method)("sst")


def test_what_is_not_there_is_named_with_what_is_like_it() -> None:
    refs = rx.open_references(V0)
    with pytest.raises(KeyError) as missing:
        refs.why("sstt", (0, 0, 0))
    assert str(missing.value) == "sst.v0.json has no array 'sstt'; similar: 'sst'."
    assert str(pickle.loads(pickle.dumps(missing.value))) == str(missing.value)
    with pytest.raises(rx.errors.MissingError, match="that is a key of the array 'sst'"):
        refs.read("sst/0.0.0")
    assert refs.get("sst") is None
    with pytest.raises(rx.errors.MissingError, match="nothing at 'nokey'"):
        rx.explore(refs, selection="nokey")
    rejected = rx.open_references({"x/0": 5, "y/0": "a"})
    assert rejected.explore(selection="x/0").selection == "x/0"


def test_results_have_text_and_html() -> None:
    refs = rx.open_references(V0)
    results: list[Any] = [
        refs.summary(), refs.summary("sst"), refs.advise(), refs.check(), refs.explain("sst/0.0.0"),
        refs.trace("sst", (0, 0, 0)), refs.infer(), refs.diff(V1), refs.dialects(readers=[]),
    ]  # fmt: skip
    for result in results:
        assert not str(result).startswith("<")
        html = result._repr_html_()
        assert html.count("<div") == html.count("</div>") > 0
        assert html.count("<table") == html.count("</table>")
    assert "60 keys" in str(refs.summary())
    assert "keys that are range" in refs.summary()._repr_html_()


def test_html_of_results_escapes_what_a_set_says() -> None:
    evil = "<script>alert(1)</script>"
    document = {".zgroup": {"zarr_format": 2}} | {
        f"{evil}/.zarray": {
            "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<f8", "fill_value": None,
            "order": "C", "filters": None, "compressor": None,
        },
        f"{evil}/0": [f"{evil}.nc", 0, 16],
    }  # fmt: skip
    refs = rx.open_references(document)
    for result in (refs.summary(evil), refs.advise(), refs.check(), refs.explain(f"{evil}/0")):
        assert "<script" not in result._repr_html_()


def test_the_editor_opens_the_text_of_a_set_and_of_a_file(tmp_path: Path) -> None:
    text = V1.read_text()
    for given in (V1, str(V1), rx.open_references(V1), text):
        assert rx.TemplateEditor(given).document == text
    packed = tmp_path / "packed.json.gz"
    rx.convert(V0, packed)
    assert rx.TemplateEditor(packed).document.startswith("{")
    parquet = rx.TemplateEditor(rx.open_references(demo.path("sst.parq")))
    assert parquet.references is not None
    assert parquet.references.arrays() == rx.open_references(demo.path("sst.parq")).arrays()
    assert json.loads(rx.TemplateEditor(rx.open_references({"x/0": "a"})).document) == {"x/0": "a"}
    with pytest.raises(rx.errors.SourceError, match=r"no file 'nosuch\.json'"):
        rx.TemplateEditor("nosuch.json")


def test_a_file_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    path = tmp_path / "notnc.nc"
    path.write_bytes(b"some text\n")
    with pytest.raises(rx.errors.SpecError, match=r"named like a NetCDF file.*first bytes are"):
        rx.open_references(path)
