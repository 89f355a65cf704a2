"""A conversion that is stopped, or has no room, leaves nothing: no output, no temporary file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import refexplorer as rx
from tests.helpers.commands import start

NAMES = ("a.json", "a.json.gz", "a.json.zst", "a.parq")
LIMITED = """
import resource, sys
from refexplorer.cli import main
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


@pytest.mark.child
@pytest.mark.parametrize("name", NAMES)
def test_an_interrupt_leaves_nothing(tmp_path: Path, name: str) -> None:
    source, folder = generated(tmp_path / "source.json", 19_000_000), tmp_path / "out"
    folder.mkdir()
    with start("convert", source, folder / name) as running:
        while running.poll() is None and not _has_begun(running.pid, folder):
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert (running.returncode, out, err) == (130, "", "")
    assert list(folder.iterdir()) == []


def _has_begun(process: int, folder: Path) -> bool:
    """Say whether a process writes in a folder, be it a file without a name."""
    if any(path.is_file() for path in folder.rglob("*")):
        return True
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if link.readlink().is_relative_to(folder):
                return True
    return False


@pytest.mark.child
@pytest.mark.parametrize("name", NAMES)
def test_a_full_disc_leaves_nothing(tmp_path: Path, name: str) -> None:
    scattered = "{{i * 7919 % 65521}}"  # so that it stays large when it is compressed
    source, folder = generated(tmp_path / "source.json", 50_000, scattered), tmp_path / "out"
    folder.mkdir()
    arguments = ["100000", "convert", str(source), str(folder / name)]
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"refexplorer: '{folder / name}' cannot be written: file too large.\n"
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


@pytest.mark.parametrize("when", ["Looking for progressions", "Writing", "Checking"])
def test_every_step_of_a_conversion_to_v1_is_shown(tmp_path: Path, when: str) -> None:
    source = rx.open_references(generated(tmp_path / "source.json", 250_000)).to_v0()
    source |= {f"odd/{i}": [f"u{i % 3}", i**3 % 10007, 5] for i in range(200)}
    shown: dict[str, int] = {}

    def interrupted(blocks: Any, total: int, step: str) -> Iterator[Any]:
        for number, block in enumerate(blocks, 1):
            yield block
            shown[step] = total - number
            if step == when:
                raise KeyboardInterrupt

    how = rx.Conversion(form="V1", watch=interrupted)
    with pytest.raises(KeyboardInterrupt):
        rx.convert(source, tmp_path / "v1", how)
    assert list(tmp_path.iterdir()) == [tmp_path / "source.json"]
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
