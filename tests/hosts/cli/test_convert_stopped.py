"""A conversion that is stopped, or has no room, leaves nothing: no output, no temporary file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from tests.helpers.forking import COMMAND, LOAD_COMMANDS, Forked, Interpreter, preloaded

pytestmark = pytest.mark.child

FORMS = ("a.json", "a.parq")
NAMES = ("a.json", "a.json.gz", "a.json.zst", "a.parq")
LIMITED = """
import resource, sys
from refexplorer.hosts.cli import main
size = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
sys.exit(main(sys.argv[2:]))
"""


def generated(path: Path, chunks: int, target: str = "{{i // 100}}") -> Path:
    """Write a set of very many keys, which takes a while to convert."""
    array = {"zarr_format": 2, "shape": [chunks], "chunks": [1], "dtype": "<i4", "order": "C"}
    array |= {"compressor": None, "filters": None, "fill_value": 0}
    item = {"key": "x/{{i}}", "url": f"s3://b/{target}", "offset": "{{i}}"}
    item |= {"length": "9", "dimensions": {"i": {"stop": chunks}}}  # type: ignore[dict-item]
    refs = {"x/.zarray": json.dumps(array)}
    path.write_text(json.dumps({"version": 1, "gen": [item], "refs": refs}))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.fixture(scope="module")
def programs() -> Iterator[Interpreter]:
    with preloaded(LOAD_COMMANDS) as interpreter:
        yield interpreter


@contextmanager
def converting(programs: Interpreter, source: Path, output: Path) -> Iterator[Forked]:
    """Start a conversion; give it when it has begun to write."""
    running = programs.start(COMMAND, "convert", source, output)
    try:
        while running.poll() is None and not _has_begun(running.pid, output.parent):
            time.sleep(0.02)
        yield running
    finally:
        running.send_signal(signal.SIGKILL)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *((name, signal.SIGINT) for name in NAMES),
        *((name, signal.SIGTERM) for name in FORMS),
        ("a.json", signal.SIGHUP),
    ],
)
def test_a_signal_leaves_nothing(
    folder: Path, name: str, number: int, programs: Interpreter
) -> None:
    source = generated(folder.parent / "source.json", 19_000_000)
    with converting(programs, source, folder / name) as running:
        running.send_signal(number)
        out, err = running.communicate()
    assert (running.returncode, out, err) == (128 + number, "", "")
    assert list(folder.iterdir()) == []


def test_a_signal_that_is_ignored_stays_so(folder: Path) -> None:
    source = generated(folder.parent / "source.json", 200_000)
    command = [sys.executable, "-m", "refexplorer", "convert", str(source), str(folder / "a.json")]
    with subprocess.Popen(["nohup", *command], stdout=subprocess.DEVNULL) as running:
        while running.poll() is None and not list(folder.iterdir()):
            time.sleep(0.02)
        running.send_signal(signal.SIGHUP)
    assert running.returncode == 0
    assert list(folder.iterdir()) == [folder / "a.json"]


@pytest.mark.parametrize(("name", "chunks"), [("a.json", 19_000_000), ("a.parq", 3_000_000)])
def test_what_a_killed_run_leaves_is_no_obstacle(
    folder: Path, name: str, chunks: int, programs: Interpreter
) -> None:
    """A parquet store has a folder only when all its keys were read, 10 s for the larger set."""
    source = generated(folder.parent / "source.json", chunks)
    with converting(programs, source, folder / name) as running:
        while running.poll() is None and not (folder / f"{name}.partial").exists():
            time.sleep(0.02)
        running.send_signal(signal.SIGKILL)
        running.communicate()
    assert (folder / f"{name}.partial").exists()
    rx.convert(generated(source, 1000), folder / name)
    assert list(folder.iterdir()) == [folder / name]
    assert not rx.diff(source, folder / name)


@pytest.mark.parametrize("options", [(), ("--overwrite",)])
@pytest.mark.parametrize("name", FORMS)
def test_of_two_conversions_to_one_name_one_is_there(
    folder: Path, name: str, options: tuple[str, ...], programs: Interpreter
) -> None:
    sources = [generated(folder.parent / f"{n}.json", 60_000, f"{n}") for n in range(2)]
    running = [
        programs.start(COMMAND, "convert", source, folder / name, *options) for source in sources
    ]
    said = [each.communicate() for each in running]
    statuses = [each.returncode for each in running]
    assert 0 in statuses
    assert list(folder.iterdir()) == [folder / name]
    equal = [not rx.diff(source, folder / name) for source in sources]
    assert sum(equal) == 1
    if options and statuses == [0, 0]:
        return  # one after the other, as they were asked to
    assert statuses[equal.index(True)] == 0
    lost = said[equal.index(False)]
    assert lost[0] == ""
    assert "is being written by another process" in lost[1] or "exists; choose another" in lost[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_second_writer_is_reported_of_the_first(folder: Path, name: str) -> None:
    source = generated(folder.parent / "source.json", 1_000)
    said: list[str] = []

    def meanwhile(blocks: Any, total: int, step: str) -> Iterator[Any]:
        for block in blocks:
            if step == "Checking" and not said:
                with pytest.raises(rx.errors.SourceError) as caught:
                    rx.convert(source, folder / name, rx.Conversion(overwrite=True))
                said.append(str(caught.value))
            yield block

    rx.convert(source, folder / name, rx.Conversion(watch=meanwhile))
    assert said == [
        f"{str(folder / name)!r} is being written by another process; wait for it to end, or "
        "choose another name."
    ]
    assert list(folder.iterdir()) == [folder / name]
    assert not rx.diff(source, folder / name)


def test_a_name_that_was_taken_meanwhile_is_kept(folder: Path) -> None:
    source = generated(folder.parent / "source.json", 1_000)
    other = generated(folder.parent / "other.json", 2_000)

    def first(blocks: Any, total: int, step: str) -> Iterator[Any]:
        if step == "Looking for progressions":  # which comes before anything is written
            rx.convert(other, folder / "a.json")
        yield from blocks

    with pytest.raises(rx.errors.SourceError, match="exists; choose another name"):
        rx.convert(source, folder / "a.json", rx.Conversion(form="V1", watch=first))
    assert not rx.diff(other, folder / "a.json")


def _has_begun(process: int, folder: Path) -> bool:
    """Say whether a process writes in a folder, be it a file without a name."""
    if any(path.is_file() for path in folder.rglob("*")):
        return True
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if link.readlink().is_relative_to(folder):
                return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disc_leaves_nothing(folder: Path, name: str, programs: Interpreter) -> None:
    scattered = "{{i * 7919 % 65521}}"  # so that it stays large when it is compressed
    source = generated(folder.parent / "source.json", 50_000, scattered)
    ran = programs.start(LIMITED, "100000", "convert", source, folder / name)
    out, err = ran.communicate()
    assert (ran.returncode, out) == (2, "")
    assert err == f"refexplorer: '{folder / name}' cannot be written: file too large.\n"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", [*NAMES, "v1"])
@pytest.mark.parametrize("when", ["Writing", "Checking"])
def test_a_cancelled_cell_leaves_nothing(tmp_path: Path, name: str, when: str) -> None:
    source, out = generated(tmp_path / "source.json", 250_000), tmp_path / "out"
    out.mkdir()
    when = "Reading" if (name, when) == ("v1", "Writing") else when

    def interrupted(blocks: Any, total: int, step: str) -> Iterator[Any]:
        for number, block in enumerate(blocks):
            if step == when and number == 1:
                raise KeyboardInterrupt
            yield block

    form = "V1" if name == "v1" else None
    how = rx.Conversion(form=form, watch=interrupted, outline=out / "data.bin")
    with pytest.raises(KeyboardInterrupt):
        rx.convert(source, out / name, how)
    assert list(out.iterdir()) == []


@pytest.fixture(scope="module")
def written_out(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A set of very many keys, of which some follow no rule."""
    path = generated(tmp_path_factory.mktemp("large") / "source.json", 250_000)
    odd = {f"odd/{i}": [f"u{i % 3}", i**3 % 10007, 5] for i in range(200)}
    return rx.open_references(path).to_v0() | odd


@pytest.mark.parametrize("when", ["Looking for progressions", "Writing", "Checking"])
def test_every_step_of_a_conversion_to_v1_is_shown(
    tmp_path: Path, when: str, written_out: dict[str, Any]
) -> None:
    shown: dict[str, int] = {}

    def interrupted(blocks: Any, total: int, step: str) -> Iterator[Any]:
        for number, block in enumerate(blocks, 1):
            yield block
            shown[step] = total - number
            if step == when:
                raise KeyboardInterrupt

    how = rx.Conversion(form="V1", watch=interrupted)
    with pytest.raises(KeyboardInterrupt):
        rx.convert(written_out, tmp_path / "v1", how)
    assert list(tmp_path.iterdir()) == []
    assert all(left == 0 for step, left in shown.items() if step != when)


def test_a_store_that_is_not_replaced_stays(tmp_path: Path) -> None:
    source = generated(tmp_path / "source.json", 1000)
    rx.convert(source, tmp_path / "a.parq")

    def interrupted(blocks: Any, total: int, step: str) -> Iterator[Any]:
        yield from blocks
        if step == "Checking":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rx.convert(source, tmp_path / "a.parq", rx.Conversion(overwrite=True, watch=interrupted))
    assert not rx.diff(source, tmp_path / "a.parq")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parq", "source.json"]
