"""A repair harms nothing: what could be read before reads the same after it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.checks.ledger import RANKS
from tests.helpers.commands import run
from tests.helpers.kerchunk_sets import translated
from tests.helpers.verifying import Changed, joined, write_files

VALUES = np.arange(24, dtype="<i4")


def inlined(document: dict[str, Any], urls: set[str]) -> dict[str, Any]:
    """Return a set that holds the chunks of some files itself."""
    mine = Changed(document)
    for key, value in mine.refs.items():
        if isinstance(value, list) and value[0] in urls:
            with Path(value[0]).open("rb") as file:
                file.seek(value[1])
                data = file.read(value[2])
            mine.refs[key] = f"base64:{base64.b64encode(data).decode()}"
    return mine.document


def read(document: Any, place: Path, path: str) -> np.ndarray:
    """Return all values of an array, as Zarr reads them."""
    refs = rx.open_references(document)
    root: Any = refs.allowing(str(place)).to_zarr()
    return np.asarray(root[path][...])


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", ["foo", "bar"])
def test_an_array_that_is_partly_inline_is_not_cut(count: int, name: str, tmp_path: Path) -> None:
    files = write_files(tmp_path)
    whole = joined(files)
    document = inlined(whole, {str(path) for path in files[-count:]})
    before = read(document, tmp_path, name)
    assert np.array_equal(before, read(whole, tmp_path, name), equal_nan=before.dtype.kind == "f")
    (tmp_path / "set.json").write_text(json.dumps(document))
    ran = run("repair", tmp_path / "set.json", "-o", tmp_path / "new.json")
    assert ran.status == (0 if count == len(files) else 2), ran.out  # what is compared with no file
    new = tmp_path / "new.json"
    assert new.exists() == (count == len(files))
    after = read(new if new.exists() else tmp_path / "set.json", tmp_path, name)
    assert np.array_equal(before, after, equal_nan=before.dtype.kind == "f")


def test_what_is_wrong_of_such_an_array_is_repaired_without_harm(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    whole = joined(files)
    mine = Changed(inlined(whole, {str(files[2])}))
    mine.refs["foo/0.0.0"] = mine.refs["foo/0.0.1"]
    found = rx.repair(mine.document, allow=[str(tmp_path)])
    right = read(whole, tmp_path, "foo")
    root: Any = found.references.allowing(str(tmp_path)).to_zarr()
    repaired = np.asarray(root["foo"][...])
    assert np.array_equal(repaired, right)


def masked(folder: Path, skipping: set[int]) -> dict[str, Any]:
    """Write a file with filters that some chunks skip, and a set that decodes by none."""
    path = folder / "a.h5"
    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset(
            "v", VALUES.shape, VALUES.dtype, chunks=(8,), compression="gzip", shuffle=True
        )
        data[:] = VALUES
        for number in skipping:
            part = VALUES[8 * number : 8 * number + 8]
            data.id.write_direct_chunk((8 * number,), part.tobytes(), filter_mask=3)
        places = [data.id.get_chunk_info_by_coord((8 * number,)) for number in range(3)]
    array = {
        "zarr_format": 2, "shape": [24], "chunks": [8], "dtype": "<i4", "compressor": None,
        "filters": None, "order": "C", "fill_value": 0,
    }  # fmt: skip
    document: dict[str, Any] = {".zgroup": {"zarr_format": 2}, "v/.zarray": array}
    for number, each in enumerate(places):
        document[f"v/{number}"] = [str(path), each.byte_offset, each.size]
    return document


@pytest.mark.parametrize("skipping", [{0, 1, 2}, {0, 2}, {1}])
def test_chunks_that_rightly_have_no_filters_get_none(skipping: set[int], tmp_path: Path) -> None:
    document = masked(tmp_path, skipping)
    for number in {0, 1, 2} - skipping:
        part = VALUES[8 * number : 8 * number + 8].tobytes()
        document[f"v/{number}"] = f"base64:{base64.b64encode(part).decode()}"
    (tmp_path / "set.json").write_text(json.dumps(document))
    assert run("verify", tmp_path / "set.json").status == 0
    assert run("repair", tmp_path / "set.json", "-o", tmp_path / "new.json").status == 0
    assert read(tmp_path / "new.json", tmp_path, "v").tolist() == VALUES.tolist()


def test_what_would_harm_is_not_written_and_the_reason_is_given(tmp_path: Path) -> None:
    """With filters one chunk could be read that cannot be, and two others no more."""
    (tmp_path / "set.json").write_text(json.dumps(masked(tmp_path, {0, 2})))
    ran = run("repair", tmp_path / "set.json", "-o", tmp_path / "new.json")
    assert ran.status == 1
    assert "`v` is not changed: v/0 can be decoded now, but not after the change." in ran.out
    assert not (tmp_path / "new.json").exists()
    found = rx.repair(tmp_path / "set.json")
    assert (found.can_be_written, list(found.refused)) == (False, ["v"])
    with pytest.raises(rx.RefexplorerError, match="could be repaired, so nothing was written"):
        found.write(tmp_path / "new.json")


def test_a_shape_is_changed_only_as_far_as_the_set_has_data(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    mine = Changed(joined(files))
    mine.metadata("foo/.zarray", shape=[24, 8, 16])
    found = rx.repair(mine.document, allow=[str(tmp_path)])
    assert found.references.array("foo").shape == (18, 8, 16)
    mine.refs["foo/7.0.0"] = "base64:AAAA"
    kept = rx.repair(mine.document, allow=[str(tmp_path)])
    assert kept.references.array("foo").shape == (24, 8, 16)


def scaled(files: list[Path], held: set[int], **changes: Any) -> dict[str, Any]:
    """Return a set that is unpacked wrongly, and that holds the chunks of some files itself."""
    mine = Changed(joined(files))
    mine.metadata("foo/.zattrs", **changes)
    return inlined(mine.document, {str(files[number]) for number in held})


def test_what_no_file_says_of_chunks_that_the_set_holds_is_not_decided(tmp_path: Path) -> None:
    """One file says another scale_factor; the other chunks are of nobody knows which."""
    files = write_files(tmp_path)
    document = scaled(files, {1, 2}, scale_factor=0.2)
    found = rx.repair(document, allow=[str(tmp_path)])
    assert "inline chunks would read differently" in found.refused["foo"]
    assert (found.status, found.can_be_written) == (1, False)
    assert [each.code for each in found.left] == ["scale_factor"]
    assert found.references.to_v0() == rx.open_references(document).to_v0()


@pytest.mark.parametrize("held", [set[int](), {0}, {1, 2}])
def test_no_chunk_falls_and_the_status_is_that_of_verify(held: set[int], tmp_path: Path) -> None:
    files = write_files(tmp_path)
    mine = Changed(scaled(files, held, scale_factor=0.2))
    mine.refs["bar/1.0.0"] = [str(files[1]), 4, 8]
    del mine.refs["foo/5.1.1"]
    found = rx.repair(mine.document, allow=[str(tmp_path)])
    for path in found.before.ledger.paths:
        before, after = (RANKS[each.chunks(path)] for each in (found.before, found.after))
        assert (before <= after).all(), path
    again = found.references.allowing(str(tmp_path)).verify()
    assert (again.status, again.headline.text) == (found.status, found.after.headline.text)


def test_a_reference_that_is_not_bad_is_kept_as_it_is(tmp_path: Path) -> None:
    """Another file has the same coordinate; only the reference that is wrong is replaced."""
    files = write_files(tmp_path)
    whole = joined(files)
    mine = Changed(whole)
    assert mine.refs["lat/0"][0] == str(files[0])
    mine.refs["lat/0"] = translated(files[1])["refs"]["lat/0"]
    kept = rx.repair(mine.document, allow=[str(tmp_path)])
    assert (kept.status, kept.difference.total) == (0, 0)
    mine.refs["lat/0"][1] += 8
    found = rx.repair(mine.document, allow=[str(tmp_path)])
    assert (found.status, found.difference.total) == (0, 1)
    assert found.references.to_v0()["lat/0"][0] == str(files[1])


def test_groups_and_copies_of_metadata_are_written_again(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    mine = Changed(joined(files))
    metadata = {k: json.loads(v) for k, v in mine.refs.items() if "/.z" in f"/{k}"}
    metadata["foo/.zattrs"]["scale_factor"] = 0.5
    del metadata["bar/.zattrs"]
    mine.refs[".zmetadata"] = json.dumps({"zarr_consolidated_format": 1, "metadata": metadata})
    del mine.refs[".zgroup"]
    assert rx.open_references(mine.document).allowing(str(tmp_path)).verify().status == 1
    found = rx.repair(mine.document, allow=[str(tmp_path)])
    assert (found.status, found.left) == (0, ())
    refs: Any = found.references.to_v0()
    copies = json.loads(refs[".zmetadata"])["metadata"]
    assert copies == {k: json.loads(v) for k, v in refs.items() if k in copies}
    assert {"bar/.zattrs", ".zgroup"} <= copies.keys()
