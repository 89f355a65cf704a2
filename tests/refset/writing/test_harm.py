"""`convert` writes nothing that would lose what can be read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from refexplorer.refset.writing.rechunking import Reshaping
from tests.helpers.commands import run

ARRAY = {
    "zarr_format": 2, "shape": [8], "chunks": [8], "dtype": "<i4", "compressor": None,
    "filters": None, "order": "C", "fill_value": 0,
}  # fmt: skip


def test_an_array_that_would_be_cut_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.bin").write_bytes(bytes(range(32)))
    document = {".zgroup": {"zarr_format": 2}, "x/.zarray": ARRAY, "x/0": ["d.bin", 0, 32]}
    (tmp_path / "set.json").write_text(json.dumps(document))
    made = Reshaping.__init__

    def cutting(self: Reshaping, *given: object) -> None:
        made(self, *given)  # type: ignore[arg-type]
        self.arrays["x"] = replace(self.arrays["x"], shape=(4,))

    command = ("convert", tmp_path / "set.json", tmp_path / "new.json", "--subchunk", "x=2")
    assert run(*command).status == 0
    (tmp_path / "new.json").unlink()
    monkeypatch.setattr(Reshaping, "__init__", cutting)
    ran = run(*command)
    assert (ran.status, ran.out) == (1, "")
    assert "nothing was written" in ran.err
    assert not (tmp_path / "new.json").exists()
