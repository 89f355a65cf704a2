"""What a verification says of files that could not be compared: damaged, or not known."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from refexplorer.checks.states import LedgerState
from refexplorer.io.sources import opening
from refexplorer.spec.codes import CODES
from tests.helpers.commands import run
from tests.helpers.verifying import Changed, joined, verified, write_files


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return write_files(tmp_path)


def _truncated(data: bytes) -> bytes:
    return data[:-8]


def _web_page(data: bytes) -> bytes:
    return b"<!DOCTYPE html>\n<title>404 Not Found</title>".ljust(len(data))


def _zeros(data: bytes) -> bytes:
    return bytes(len(data))


def _tiff(data: bytes) -> bytes:
    return b"II*\x00".ljust(len(data), b"\xff")


def _netcdf3(data: bytes) -> bytes:
    return b"CDF\x01".ljust(len(data), b"\xff")


@pytest.mark.parametrize("change", [_truncated, _web_page, _zeros, _tiff, _netcdf3])
def test_a_file_that_its_library_cannot_open_has_failed(
    change: Any, files: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "set.json").write_text(json.dumps(joined(files)))
    assert run("verify", tmp_path / "set.json").status == 0
    files[1].write_bytes(change(files[1].read_bytes()))
    ran = run("verify", tmp_path / "set.json", "--json")
    found = json.loads(ran.out)
    assert (ran.status, found["coverage"]["files"]["damaged"]) == (1, 1)
    assert found["headline"] == "has errors: 1 file cannot be read"
    assert list(found["failures"]) == [str(files[1])]


def test_a_web_page_without_a_known_name_has_failed(tmp_path: Path) -> None:
    (tmp_path / "d.bin").write_bytes(b"\n<html><body>Sign in</body></html>".ljust(80))
    document = {"x/.zarray": _ARRAY} | {f"x/{n}": ["d.bin", 40 * n, 40] for n in range(2)}
    (tmp_path / "set.json").write_text(json.dumps(document))
    ran = run("verify", tmp_path / "set.json")
    assert ran.status == 1
    assert "web page" in ran.out


def test_an_array_that_its_library_cannot_read_has_failed(
    files: list[Path], tmp_path: Path
) -> None:
    document = joined(files)
    data = files[1].read_bytes()
    assert b"TREE" in data
    files[1].write_bytes(b"XREE".join(data.rsplit(b"TREE", 1)))
    found = verified(document, tmp_path)
    assert (found.good, found.has_errors) == (False, True)
    assert [str(files[1])] == list(found.counts.failures)
    assert found.ledger.files.counts == {"read": 2, "damaged": 1}


def test_a_library_that_is_not_installed_is_never_good(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "set.json").write_text(json.dumps(joined(files)))
    monkeypatch.setitem(opening._PACKAGES, "HDF5", "no_such_package")
    ran = run("verify", tmp_path / "set.json", "--json")
    found = json.loads(ran.out)
    assert (ran.status, found["coverage"]["files"]["library_missing"]) == (2, 3)


def test_a_file_without_any_reference_is_named(files: list[Path], tmp_path: Path) -> None:
    """A worker failed, and nothing of its file is in the set."""
    mine = Changed(joined(files))
    for key in [key for key, value in mine.refs.items() if value[0] == str(files[1])]:
        del mine.refs[key]
    (tmp_path / "set.json").write_text(json.dumps(mine.document))
    ran = run("verify", tmp_path / "set.json", "--values", "all")
    assert "No array has a reference at elements 6 to 11 along `time`" in ran.out
    assert run("check", tmp_path / "set.json").out.count("no-references-at") == 1


_ARRAY = {
    "zarr_format": 2, "shape": [20], "chunks": [10], "dtype": "<i4", "compressor": None,
    "filters": None, "order": "C", "fill_value": 0,
}  # fmt: skip


@pytest.mark.parametrize("length", [None, 80])
def test_of_a_file_that_is_one_chunk_the_length_is_compared(
    length: int | None, files: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "raw.bin").write_bytes(bytes(80))
    mixed = Changed(joined(files))
    mixed.refs["x/.zarray"] = json.dumps(_ARRAY | {"chunks": [20]})
    reference = [str(tmp_path / "raw.bin")]
    mixed.refs["x/0"] = reference if length is None else [*reference, 0, length]
    found = verified(mixed.document, tmp_path)
    assert found.good, str(found)
    assert found.headline.text.endswith("1 chunk was compared by length only")
    assert "only the length of one uncompressed chunk" in found.summary[-1]
    assert {state.name for state in LedgerState if found.ledger.counts("x").get(state)} == {
        "INSIDE"
    }
    (tmp_path / "raw.bin").write_bytes(bytes(79))
    found = verified(mixed.document, tmp_path)
    assert not found.good
    assert "1 chunk reaches past the end of the file, which has 79 bytes" in str(found)


def test_a_file_compressed_as_a_whole_is_to_be_unpacked(files: list[Path], tmp_path: Path) -> None:
    mixed = Changed(joined(files))
    packed = tmp_path / "raw.nc.gz"
    packed.write_bytes(gzip.compress(bytes(4000)))
    mixed.refs["x/.zarray"] = json.dumps(_ARRAY | {"chunks": [20]})
    mixed.refs["x/0"] = [str(packed), 1000, 80]
    found = verified(mixed.document, tmp_path)
    assert found.status == 1
    assert "The file is compressed with gzip as a whole" in str(found)
    assert "copy it again, unless it was compressed" in CODES["range-past-end"].mend


def test_a_format_that_is_not_known_is_never_good(files: list[Path], tmp_path: Path) -> None:
    """The other files are the same, and yet nobody compared this one."""
    (tmp_path / "raw.bin").write_bytes(bytes(80))
    mixed = Changed(joined(files))
    mixed.refs["x/.zarray"] = json.dumps(_ARRAY)
    mixed.refs |= {f"x/{n}": [str(tmp_path / "raw.bin"), 40 * n, 40] for n in range(2)}
    (tmp_path / "set.json").write_text(json.dumps(mixed.document))
    ran = run("verify", tmp_path / "set.json", "--json")
    found = json.loads(ran.out)
    assert (ran.status, found["coverage"]["files"]["format_unknown"]) == (2, 1)
    assert found["headline"] == "not known: 1 file has a format that cannot be compared"
    (tmp_path / "raw.bin").write_bytes(bytes(60))
    ran = run("verify", tmp_path / "set.json")
    assert ran.status == 1
    assert "1 chunk reaches past the end of the file, which has 60 bytes" in ran.out
    assert "1 file not read, 1 past the end" in ran.out
