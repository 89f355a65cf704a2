"""The versions that Icechunk recorded, against those of the files when they are verified."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zarr

import refexplorer as rx
from tests.formats.icechunk.building import moment
from tests.helpers.explorer import Host, ask

icechunk: Any = pytest.importorskip("icechunk")
UNTOLD = "the versions that Icechunk recorded"


def write_file(path: Path, start: int) -> list[Any]:
    """Write four values in two chunks."""
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", data=np.arange(start, start + 4, dtype="i2"), chunks=(2,))
        return [data.id.get_chunk_info(number) for number in range(2)]


def write_repository(folder: Path, checksums: Sequence[datetime | str]) -> Path:
    """Write a repository that refers to two files, one after the other, and to one of no format."""
    targets = folder / "targets"
    targets.mkdir(exist_ok=True)
    prefix = f"file://{targets}/"
    config = icechunk.RepositoryConfig.default()
    store = icechunk.local_filesystem_store(str(targets))
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, store))
    path = folder / "repo"
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(path)), config)
    session = made.writable_session("main")
    root = zarr.group(store=session.store)
    names: dict[str, Any] = {"compressors": None, "filters": None, "dtype": "i2"}
    root.create_array("x", shape=(8,), chunks=(2,), dimension_names=["t"], **names)
    root.create_array("y", shape=(2,), chunks=(2,), dimension_names=["u"], **names)
    for number, checksum in enumerate(checksums):
        for place, chunk in enumerate(write_file(targets / f"f{number}.h5", 4 * number)):
            session.store.set_virtual_ref(
                f"x/c/{2 * number + place}",
                f"{prefix}f{number}.h5",
                offset=chunk.byte_offset,
                length=chunk.size,
                checksum=checksum,
            )
    (targets / "y.bin").write_bytes(b"\1\0\2\0")
    where = "y/c/0", f"{prefix}y.bin"
    session.store.set_virtual_ref(*where, offset=0, length=4, checksum=checksums[0])
    session.commit("written")
    return path


def test_files_that_changed_since(tmp_path: Path) -> None:
    path = write_repository(tmp_path, [moment(1), moment(1)])
    found = rx.open_references(path).allowing(str(tmp_path)).verify(workers=1)
    assert found.good, str(found)
    assert found.findings == ()
    changed = moment(2)
    for name in ("f1.h5", "y.bin"):
        os.utime(tmp_path / "targets" / name, (changed.timestamp(),) * 2)
    found = rx.open_references(path).allowing(str(tmp_path)).verify(workers=1)
    assert not found.good
    assert found.has_errors
    assert found.headline.text == "is stale: 2 files changed"
    mine = {each.array: each for each in found.findings}
    assert {each.code for each in found.findings} == {"changed"}
    when = changed.astimezone(UTC).isoformat(" ", "seconds")
    assert mine["x"].message.startswith(
        "`x`: 1 of 2 files has changed since references to them were written "
        f"(f1.h5: it was last modified at {when}, after "
    )
    assert (mine["x"].reference_count, mine["x"].file_count) == (2, 1)
    assert mine["y"].message.startswith("`y`: 1 file has changed since")  # of no format
    assert found.ledger.files.counts == {"read": 1, "changed": 2}
    rows = {Path(row["target"]).name: row for row in found.files().to_pylist()}
    assert {name: row["state"] for name, row in rows.items()} == {
        "f0.h5": "same", "f1.h5": "differs", "y.bin": "differs",
    }  # fmt: skip
    assert (rows["f1.h5"]["same"], rows["y.bin"]["uncompared"]) == (2, 1)


def disk_tag(path: Path) -> str:
    """Return the ETag that Icechunk makes of a file on disk (in Rust, the crate object_store)."""
    found = path.stat()
    return f"{found.st_ino:x}-{found.st_mtime_ns // 1000:x}-{found.st_size:x}"


def record(path: Path, checksum: datetime | str) -> None:
    """Write down a version of the file that `y` refers to."""
    made = icechunk.Repository.open(icechunk.local_filesystem_storage(str(path)))
    session = made.writable_session("main")
    where = "y/c/0", f"file://{path.parent}/targets/y.bin"
    session.store.set_virtual_ref(*where, offset=0, length=4, checksum=checksum)
    session.commit("recorded")


@pytest.mark.parametrize("verb", ["verify", "check_targets"])
def test_an_etag_of_a_file_on_disk(tmp_path: Path, verb: str) -> None:
    path = write_repository(tmp_path, [moment(1), moment(1)])
    target = tmp_path / "targets" / "y.bin"
    record(path, disk_tag(target))

    def checked() -> Any:
        return getattr(rx.open_references(path).allowing(str(tmp_path)), verb)()

    found = checked()
    assert found.good, str(found)
    assert found.counts.unchecked == () or verb == "verify"
    assert UNTOLD not in str(found)
    copy = target.with_name("copy")
    shutil.copy2(target, copy)  # with the time and the bytes of the other one, in another inode
    copy.replace(target)
    found = checked()
    assert found.headline.text == "is stale: 1 file changed"
    (finding,) = found.findings
    assert "its ETag was" in finding.message


def test_a_change_within_the_second_that_was_recorded(tmp_path: Path) -> None:
    """Icechunk writes down whole seconds, and refuses a file that is half a second younger."""
    path = write_repository(tmp_path, [moment(1), moment(1)])
    target, second = tmp_path / "targets" / "y.bin", 1_700_000_000
    record(path, datetime.fromtimestamp(second, UTC))
    for more, is_good in ((0, True), (0.5, False)):
        os.utime(target, (second + more,) * 2)
        found = rx.open_references(path).allowing(str(tmp_path)).verify(workers=1)
        assert found.good == is_good, str(found)
    assert "modified at 2023-11-14 22:13:20.500+00:00, after 2023-11-14 22:13:20" in str(found)


def test_results_are_not_kept_for_other_recorded_versions(tmp_path: Path) -> None:
    path, kept = write_repository(tmp_path, [moment(1), moment(1)]), tmp_path / "kept"
    refs = rx.open_references(path)
    refs.allowing(str(tmp_path)).verify(workers=1, results=kept)
    opened = icechunk.Repository.open(icechunk.local_filesystem_storage(str(path)))
    session = opened.writable_session("main")
    was: Any = refs["y/c/0"]
    session.store.set_virtual_ref("y/c/0", was.url, offset=0, length=4, checksum=moment(-1))
    session.commit("the same reference")
    again = rx.open_references(path)
    assert {**again} == {**refs}
    found = again.allowing(str(tmp_path)).verify(workers=1, results=kept, resume=True)
    assert {each.array for each in found.findings} == {"y"}


def test_the_button_of_the_explorer_finds_it_too(tmp_path: Path) -> None:
    path = write_repository(tmp_path, [moment(-1), moment(1)])
    host = Host(rx.open_references(path), allow=[str(tmp_path)])
    answer, _ = ask(host, "verify", values=False)
    assert answer["verdict"] == "is stale: 2 files changed"
    assert {each["code"] for each in answer["findings"]} == {"changed"}


def test_the_trace_of_a_chunk_whose_file_changed(tmp_path: Path) -> None:
    path = write_repository(tmp_path, [moment(1), moment(1)])
    refs = rx.open_references(path).allowing(str(tmp_path))
    assert "file version" not in [step.name for step in refs.why("x", [4]).steps]
    os.utime(tmp_path / "targets" / "f1.h5", (moment(2).timestamp(),) * 2)
    refs = rx.open_references(path).allowing(str(tmp_path))
    for trace in (refs.why("x", [4]), refs.trace("x/c/2")):
        (said,) = (step.text for step in trace.steps if step.name == "file version")
        assert said.startswith("It changed since references to it were written")
        assert said.endswith("Icechunk refuses to read this chunk.")
    assert "file version" not in [step.name for step in refs.trace("x/c/0").steps]  # of f0.h5


@pytest.mark.skipif(icechunk.__version__.startswith("1."), reason="icechunk 1 lists only commits")
@pytest.mark.parametrize("verb", ["verify", "check_targets"])
def test_uncommitted_changes_leave_versions_uncompared(tmp_path: Path, verb: str) -> None:
    path = write_repository(tmp_path, [moment(1), moment(1)])
    storage = icechunk.local_filesystem_storage(str(path))
    session = icechunk.Repository.open(storage).writable_session("main")
    zarr.open_group(session.store, mode="a").attrs["a"] = 1
    refs = rx.open_references(session.store).allowing(str(tmp_path))
    assert "Icechunk may have recorded" in str(getattr(refs, verb)(workers=1))


def test_native_chunks_have_no_source_file(tmp_path: Path) -> None:
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    session = icechunk.Repository.create(storage).writable_session("main")
    array = zarr.create_group(session.store).create_array(
        "n", shape=(4000,), chunks=(1000,), dtype="f8", dimension_names=["x"]
    )
    array[:] = np.random.default_rng(1).random(4000)
    session.commit("native")
    found = str(rx.open_references(tmp_path / "repo").verify(workers=1))
    assert "there is no source file to compare them with" in found
    assert "unpack" not in found
