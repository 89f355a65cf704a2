"""A lock of a set, and what changed since it was written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refexplorer as rx
from tests.helpers.commands import Run, run
from tests.helpers.servers import RangeServer
from tests.helpers.verifying import joined, write_files

ARRAY = {"zarr_format": 2, "chunks": [10], "dtype": "|u1", "compressor": None, "filters": None,
         "order": "C", "fill_value": 0}  # fmt: skip
VERBS = [("check",), ("audit", "--decode", "all"), ("verify",)]


def write_set(path: Path, urls: list[str]) -> Path:
    """Write a set of ten bytes of each file."""
    array = json.dumps(ARRAY | {"shape": [10 * len(urls)]})
    chunks = {f"x/{number}": [url, 0, 10] for number, url in enumerate(urls)}
    path.write_text(json.dumps({".zgroup": '{"zarr_format": 2}', "x/.zarray": array} | chunks))
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for number in range(4):
        (tmp_path / f"{number}.bin").write_bytes(bytes(100))
        os.utime(tmp_path / f"{number}.bin", (10**9, 10**9))
    return write_set(tmp_path / "set.json", [f"{number}.bin" for number in range(4)])


@pytest.fixture
def lock(source: Path) -> Path:
    target = source.with_name("set.lock")
    assert run("lock", source, "-o", target).status == 0
    return target


def compared(*arguments: str | Path, status: int) -> dict[str, Any]:
    """Return the report of a command, as JSON."""
    ran: Run = run(*arguments, "--json")
    found: dict[str, Any] = json.loads(ran.out)
    assert (ran.status, found["status"]) == (status, status), ran.out
    return found


def files_of(found: dict[str, Any]) -> dict[str, list[str]]:
    """Return the names of files by the code that they are found under."""
    return {
        each["code"]: [url.rpartition("/")[2] for url in each["files"]]
        for each in found["findings"]
        if each["files"] and each["code"] not in ("unreachable", "range-past-end")
    }


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_files_that_changed_went_away_or_came_are_named(
    source: Path, lock: Path, verb: tuple[str, ...]
) -> None:
    folder = source.parent
    (folder / "0.bin").write_bytes(bytes(101))  # another size
    (folder / "1.bin").write_bytes(bytes(100))  # the same size, and a later time
    (folder / "2.bin").unlink()
    (folder / "4.bin").write_bytes(bytes(100))
    write_set(source, ["0.bin", "1.bin", "2.bin", "4.bin"])
    found = compared(verb[0], source, *verb[1:], "--against", lock, status=1)
    assert files_of(found) == {
        "changed": ["0.bin", "1.bin"],
        "gone": ["2.bin"],
        "added": ["4.bin"],
        "dropped": ["3.bin"],
    }
    assert "0 files with the same version, 2 changed, 1 gone, 1 new" in found["since"]
    (changed,) = [each for each in found["findings"] if each["code"] == "changed"]
    assert "0.bin (its size was 100 bytes, and is 101)" in changed["message"]
    assert found["coverage"]["files"]["changed"] == 2 if verb[0] != "verify" else True


@pytest.mark.parametrize("verb", VERBS[:2], ids=lambda verb: verb[0])
def test_what_is_as_it_was_passes(source: Path, lock: Path, verb: tuple[str, ...]) -> None:
    found = compared(verb[0], source, *verb[1:], "--against", lock, status=0)
    assert found["findings"] == []
    assert "4 files with the same version." in found["since"]
    assert found["since"] in found["summary"]


def test_only_changed_files_make_a_set_stale(source: Path, lock: Path) -> None:
    (source.parent / "0.bin").write_bytes(bytes(100))
    found = compared("check", source, "--against", lock, status=1)
    assert (found["claim"], found["headline"]) == ("stale", "is stale: 1 file changed")
    assert [*found["changed"]] == ["0.bin"]


def test_a_file_that_came_back(source: Path) -> None:
    (source.parent / "1.bin").rename(source.parent / "away")
    lock = source.with_name("set.lock")
    assert run("lock", source, "-o", lock).status == 1  # it is written, and says what is missing
    (source.parent / "away").rename(source.parent / "1.bin")
    found = compared("check", source, "--against", lock, status=0)
    assert files_of(found) == {"back": ["1.bin"]}


def test_verify_compares_files_that_it_reads(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    source, lock = tmp_path / "set.json", tmp_path / "set.lock"
    source.write_text(json.dumps(joined(files)))
    assert run("lock", source, "-o", lock).status == 0
    assert "3 files with the same version" in compared(
        "verify", source, "--against", lock, status=0
    )["since"]  # fmt: skip
    os.utime(files[1], (10**9, 10**9))  # written again with what it had
    found = compared("verify", source, "--against", lock, status=1)
    assert found["headline"] == "is stale: 1 file changed"
    assert files_of(found)["changed"] == [files[1].name]
    files_read = found["coverage"]["files"]
    assert (files_read["total"], files_read["read"], files_read["changed"]) == (3, 3, 1)


def test_a_server_that_shows_no_version_is_not_known(server: RangeServer, tmp_path: Path) -> None:
    """It is never called unchanged, though its size is what it was."""
    server.files = {f"/{number}": bytes(100) for number in range(3)}
    server.etags = {"/0": '"a"'}
    source = write_set(tmp_path / "set.json", [f"{server.url}/{n}" for n in range(3)])
    lock = tmp_path / "set.lock"
    ran = run("lock", source, "-o", lock, "--allow", server.url)
    assert ran.status == 0
    assert "3 files, 3 that answered, 1 with an ETag or a time" in ran.out
    asked = ("check", source, "--allow", server.url, "--against", lock)
    found = compared(*asked, status=2)
    assert found["headline"] == "not known: whether 2 files changed (no version to compare)"
    assert "1 file with the same version, 2 not known" in found["since"]
    server.files["/2"] = bytes(90)
    found = compared(*asked, status=1)
    assert files_of(found) == {"changed": ["2"]}
    server.etags = {"/0": '"b"'}
    found = compared(*asked, status=1)
    assert files_of(found) == {"changed": ["0", "2"]}


def test_checksums_show_other_values_where_no_version_does(
    server: RangeServer, tmp_path: Path
) -> None:
    server.files = {"/0": bytes(100)}
    source = write_set(tmp_path / "set.json", [f"{server.url}/0"])
    refs = rx.open_references(source).allowing(server.url)
    report = refs.lock(tmp_path / "set.lock", checksums="all")
    assert report.status == 0
    (sums,) = pq.read_table(tmp_path / "set.lock")["checksums"].to_pylist()
    assert len(sums) == 1
    assert refs.audit(decode="all", against=tmp_path / "set.lock").status == 2  # nobody tells
    server.files = {"/0": b"\1" + bytes(99)}
    found = refs.audit(decode="all", against=tmp_path / "set.lock")
    assert (found.status, [each.code for each in found.findings]) == (1, ["changed"])
    assert "chunk 0 of `x` has other values" in str(found)


def test_axes_and_arrays_are_compared(source: Path, lock: Path) -> None:
    refs = json.loads(source.read_text())
    short = dict(refs)
    del short["x/3"]
    source.write_text(json.dumps(short))
    found = compared("check", source, "--against", lock, status=0)
    assert "had 4 chunks with references, and has 3" in " ".join(
        each["message"] for each in found["findings"] if each["code"] == "dropped"
    )
    source.write_text(json.dumps(refs | {"y/.zarray": json.dumps(ARRAY | {"shape": [10]})}))
    found = compared("check", source, "--against", lock, status=0)
    assert [each["array"] for each in found["findings"] if each["code"] == "added"] == ["y"]
    strict = run("check", source, "--against", lock, "--fail-on", "info")
    assert strict.status == 1


def test_the_ends_of_a_coordinate_are_kept(tmp_path: Path) -> None:
    def write(days: list[int]) -> Path:
        refs = {
            ".zgroup": '{"zarr_format": 2}',
            "time/.zarray": json.dumps(ARRAY | {"shape": [len(days)], "chunks": [len(days)]}),
            "time/.zattrs": '{"_ARRAY_DIMENSIONS": ["time"], "units": "days since 2000-01-01"}',
            "time/0": bytes(days).decode(),
        }
        (tmp_path / "set.json").write_text(json.dumps(refs))
        return tmp_path / "set.json"

    lock = tmp_path / "set.lock"
    assert run("lock", write([1, 2, 3]), "-o", lock).status == 0
    found = compared("check", write([1, 2, 3, 4]), "--against", lock, status=0)
    (added,) = [each for each in found["findings"] if each["code"] == "added"]
    assert added["severity"] == "info"
    assert "ends at 2000-01-05" in added["message"]
    found = compared("check", write([2, 3, 4]), "--against", lock, status=0)
    (dropped,) = [each for each in found["findings"] if each["code"] == "dropped"]
    assert "began at 2000-01-02, and begins at 2000-01-03" in dropped["message"]


def test_shares_bring_a_lock_up_to_date(source: Path, lock: Path) -> None:
    """What was not asked stays, with the time when it was asked."""
    before = {row["target"]: row["asked"] for row in pq.read_table(lock).to_pylist()}
    table = pq.read_table(lock)
    long_ago = pa.array([10**12] * len(table)).cast(table.schema.field("asked").type)
    at = table.column_names.index("asked")
    pq.write_table(table.set_column(at, "asked", long_ago), lock)
    for share in ("1/2", "2/2"):
        ran = run("lock", source, "-o", lock, "--only", share)
        assert ran.status == 0
        if share == "1/2":
            assert "the oldest answer is of 2001-09-09" in ran.out
    rows = pq.read_table(lock).to_pylist()
    assert sorted(row["target"] for row in rows) == sorted(before)
    assert all(row["asked"].year > 2001 for row in rows)
    write_set(source, ["0.bin", "1.bin"])
    assert run("lock", source, "-o", lock, "--only", "1/2").status == 0
    assert {*pq.read_table(lock)["target"].to_pylist()} == {"0.bin", "1.bin"}


@pytest.mark.parametrize("content", [b"", b"no parquet", b"PAR1"])
def test_what_is_no_lock_is_refused_in_a_sentence(source: Path, content: bytes) -> None:
    other = source.with_name("other.lock")
    other.write_bytes(content)
    ran = run("check", source, "--against", other)
    assert ran.status == 2
    assert "is not a lock; `refexplorer lock SET -o FILE` writes one" in ran.err
    other.unlink()
    assert "cannot be read: no such file" in run("check", source, "--against", other).err


def test_a_lock_of_another_version_is_refused(source: Path, lock: Path) -> None:
    table = pq.read_table(lock)
    found = json.loads(table.schema.metadata[b"refexplorer.lock"])
    other = json.dumps(found | {"schema": 99}).encode()
    pq.write_table(table.replace_schema_metadata({b"refexplorer.lock": other}), lock)
    ran = run("check", source, "--against", lock)
    assert (ran.status, "another version of refexplorer" in ran.err) == (2, True)


def test_a_lock_has_not_the_name_that_writing_the_set_takes(source: Path) -> None:
    """While `set.json` is written, and after, `set.json.lock` is not the user's."""
    ran = run("lock", source, "-o", source.with_name("set.json.lock"))
    assert (ran.status, "name the lock 'set.lock'" in ran.err) == (2, True)


def test_a_lock_is_not_replaced_unless_asked(source: Path, lock: Path) -> None:
    ran = run("lock", source, "-o", lock)
    assert (ran.status, "exists" in ran.err) == (2, True)
    assert run("lock", source, "-o", lock, "--overwrite").status == 0


def test_a_lock_has_no_secret(server: RangeServer, tmp_path: Path) -> None:
    server.files = {"/0": bytes(100)}
    server.etags = {"/0?X-Amz-Signature=abcdef0123456789": '"a"', "/0": '"a"'}
    url = f"{server.url}/0?X-Amz-Signature=abcdef0123456789"
    refs = rx.open_references(write_set(tmp_path / "set.json", [url])).allowing(server.url)
    refs.lock(tmp_path / "set.lock")
    assert "abcdef0123456789" not in str(pq.read_table(tmp_path / "set.lock").to_pylist())
