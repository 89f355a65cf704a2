"""Cells that make a picture again: each is run, and reads what the preview shows."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refexplorer import demo
from refexplorer.views.code.cells import PictureLook, cell
from tests.helpers.explorer import Host, later

SETS = ("sst.v0.json", "sst.v1.json", "sst.parq")
HAS_PLOTS = importlib.util.find_spec("matplotlib") is not None
PICTURES = ("values.plot", "matplotlib.pyplot.")
SAVE = "\nimport numpy as np\nnp.save('values.npy', np.asarray(values, 'f8'))\n"
RUNNER = Path(__file__).with_name("running_cells.py")


class Interpreter:
    """A process that runs cells, each with no names; to load the libraries takes it a second."""

    def __init__(self) -> None:
        command = [sys.executable, str(RUNNER)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, code: str, folder: Path) -> np.ndarray:
        """Run a cell but for its picture, and return its values."""
        left_out = ("import matplotlib", *PICTURES)
        lines = [line for line in code.splitlines() if not line.startswith(left_out)]
        self._ask(folder, "\n".join(lines) + SAVE, is_drawn=False)
        found: np.ndarray = np.load(folder / "values.npy")
        return found

    def draw(self, code: str, folder: Path) -> dict[str, Any]:
        """Run a cell, and return what it drew."""
        return self._ask(folder, code, is_drawn=True)

    def _ask(self, folder: Path, code: str, is_drawn: bool) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(folder), code, is_drawn]) + "\n")
        self.process.stdin.flush()
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "error" not in told, code + told["error"]
        return told

    def end(self) -> None:
        self.process.communicate()


@pytest.fixture(scope="module")
def cells() -> Iterator[Interpreter]:
    """One interpreter for all cells; what does without refexplorer comes first."""
    interpreter = Interpreter()
    yield interpreter
    interpreter.end()


def shown(host: Host, array: str, slices: list[str]) -> np.ndarray:
    """What the preview shows of a part."""
    reading, values = host.read(array, None, slices=slices)
    found: np.ndarray = values.reshape(reading["shape"]).squeeze()
    return found


def asked(host: Host, library: str, **fields: Any) -> str:
    return str(later(host, "code.cell", library=library, **fields)[0]["code"])


@pytest.mark.parametrize("library", ["xarray", "zarr"])
@pytest.mark.parametrize("name", SETS)
def test_a_cell_reads_what_the_preview_shows(
    name: str, library: str, tmp_path: Path, cells: Interpreter
) -> None:
    host = Host(demo.path(name))
    slices = ["5", "10:90:2", "::3"]
    code = asked(host, library, array="sst", slices=slices, scheme="greys", low=10.0, high=30.0)
    assert "cmap='Greys', vmin=10.0, vmax=30.0" in code
    values = shown(host, "sst", slices)
    assert np.allclose(cells.run(code, tmp_path), values, equal_nan=True)


LOOKS: dict[tuple[str, str, str], str] = {
    ("xarray", "heatmap", "log"): "norm=matplotlib.colors.LogNorm(1.0, 30.0)",
    ("zarr", "heatmap", "symlog"): "norm=matplotlib.colors.SymLogNorm(0.03, vmin=1.0, vmax=30.0)",
    ("xarray", "lines", "linear"): "values.plot.line(x='lon')",
    ("zarr", "lines", "linear"): "matplotlib.pyplot.plot(values.T)",
}


@pytest.mark.parametrize(("library", "mode", "bar"), LOOKS)
def test_a_cell_says_how_the_preview_draws(library: str, mode: str, bar: str) -> None:
    code = look_of(Host(demo.path("sst.v0.json")), library, mode, bar)
    assert LOOKS[library, mode, bar].replace("rdbu", "RdBu") in code
    compile(code, "cell", "exec")


SLICES = ["5", "10:90:20", "::3"]


def look_of(host: Host, library: str, mode: str, bar: str = "linear", **more: Any) -> str:
    look = {"mode": mode, "bar": bar, "low": 1.0, "high": 30.0, "scheme": "rdbu"} | more
    return asked(host, library, array="sst", **{"slices": SLICES} | look)


def numbers(told: Any) -> np.ndarray:
    """Return what was told as JSON, where null is no number."""
    return np.array(told, dtype=object).astype(float)


@pytest.mark.skipif(not HAS_PLOTS, reason="no Matplotlib: install matplotlib")
def test_cells_make_the_picture_with_matplotlib(tmp_path: Path, cells: Interpreter) -> None:
    host = Host(demo.path("sst.v0.json"))
    row = ["5", "50", ":"]
    looks = [
        (library, mode, bar)
        for library in ("xarray", "zarr")
        for mode, bar in (
            ("heatmap", "linear"), ("heatmap", "log"), ("heatmap", "symlog"), ("lines", "linear"),
        )
    ]  # fmt: skip
    codes = [look_of(host, *look, upward=True) for look in looks]
    codes += [look_of(host, library, "line", slices=row) for library in ("xarray", "zarr")]
    found = [cells.draw(code, tmp_path) for code in codes]
    values, line = shown(host, "sst", SLICES), shown(host, "sst", row)
    norms = {"linear": "Normalize", "log": "LogNorm", "symlog": "SymLogNorm"}
    for (_, mode, bar), told in zip(looks, found, strict=False):
        if mode == "lines":
            np.testing.assert_allclose(numbers(told["lines"]), values)
            continue
        np.testing.assert_allclose(numbers(told["cells"]).reshape(values.shape), values)
        assert (told["limits"], told["colours"], told["bar"]) == ([1, 30], "RdBu", norms[bar])
        assert told["upward"]  # latitudes rise
    for told in found[-2:]:
        np.testing.assert_allclose(numbers(told["lines"]), [line])


@pytest.mark.parametrize("mode", ["line", "table", "statistics"])
@pytest.mark.parametrize("library", ["xarray", "zarr"])
def test_each_way_to_look_has_its_cell(
    mode: str, library: str, tmp_path: Path, cells: Interpreter
) -> None:
    host = Host(demo.path("sst.v0.json"))
    code = asked(host, library, array="sst", slices=["5", "50", ":"], mode=mode)
    values = shown(host, "sst", ["5", "50", ":"])
    assert np.allclose(cells.run(code, tmp_path), values, equal_nan=True)


def test_raw_values_stay_raw(tmp_path: Path, cells: Interpreter) -> None:
    host = Host(demo.path("sst.v0.json"))
    for library in ("xarray", "zarr"):
        code = asked(host, library, array="sst", slices=["5", ":", ":96"], scale=False, times=False)
        reading, values = host.read("sst", None, slices=["5", ":", ":96"], scale=False)
        raw = values.reshape(reading["shape"]).squeeze()
        assert np.array_equal(cells.run(code, tmp_path), raw), library


def test_unsigned_values_and_their_fill_value(tmp_path: Path, cells: Interpreter) -> None:
    meta = {
        "shape": [4], "chunks": [4], "dtype": "<i2", "compressor": None, "filters": None,
        "fill_value": -1, "order": "C", "zarr_format": 2,
    }  # fmt: skip
    attributes = {
        "_ARRAY_DIMENSIONS": ["n"], "_Unsigned": "true", "scale_factor": 0.5, "add_offset": 1.0,
        "_FillValue": -1,
    }  # fmt: skip
    (tmp_path / "f.bin").write_bytes(np.array([1, 65535, 40000, 0], "<u2").tobytes())
    refs = {
        "x/.zarray": json.dumps(meta),
        "x/.zattrs": json.dumps(attributes),
        ".zgroup": '{"zarr_format": 2}',
        "x/0": ["f.bin", 0, 8],
    }
    (tmp_path / "refs.json").write_text(json.dumps(refs))
    host = Host(tmp_path / "refs.json")
    values = shown(host, "x", [":"])
    assert np.allclose(values, [1.5, np.nan, 20001, 1], equal_nan=True)
    for library in ("xarray", "zarr"):
        code = asked(host, library, array="x", slices=[":"])
        assert np.allclose(cells.run(code, tmp_path), values, equal_nan=True), library


def test_a_set_that_fsspec_does_not_read_is_opened_by_refexplorer(
    tmp_path: Path, cells: Interpreter
) -> None:
    host = Host(demo.path("broken.json"))
    code = asked(host, "xarray", array="wind", slices=["0", ":", ":"])
    assert "refexplorer" in code
    found = cells.run(code, tmp_path)
    assert np.allclose(found, shown(host, "wind", ["0", ":", ":"]), equal_nan=True)


def test_what_a_library_cannot_do_names_another() -> None:
    v3 = {
        "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
        "attributes": {},
    }  # fmt: skip
    host = Host({"x/zarr.json": json.dumps(v3), "x/c/0": "ab"})
    refs, array = host.controller.references, host.controller.references.array("x")
    error = later(host, "code.cell", library="xarray", array="x", slices=[":"])[0]["error"]
    assert "copy the cell for Zarr instead" in error
    assert "array[0:2]" in cell(refs, array, PictureLook(((0, 2, 1),)), "zarr").replace(
        "[:2]", "[0:2]"
    )
    host = Host(demo.path("sst.v0.json"))
    assert "no array" in later(host, "code.cell", library="zarr", array="no", slices=[])[0]["error"]


def test_a_visitor_does_not_learn_where_the_server_keeps_the_set() -> None:
    host = Host(demo.path("sst.v0.json"), served=True)
    for library in ("xarray", "zarr"):
        code = asked(host, library, array="sst", slices=["5", ":", ":"])
        assert str(demo.path("sst.v0.json").parent) not in code
