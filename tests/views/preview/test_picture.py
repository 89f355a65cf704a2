from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from refexplorer.views.preview import picture
from tests.helpers.explorer import Host
from tests.helpers.servers import RangeServer, range_server
from tests.helpers.sets import ZARRAY

SIZE, CHUNK = 1500, 100
VALUES = (np.arange(SIZE * SIZE) % 30_011).astype("<i2").reshape(SIZE, SIZE)
LOST, ABSENT = "x/3.4", "x/5.6"


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


def host(server: RangeServer, attributes: dict[str, Any]) -> Host:
    """Return a host of 225 chunks, one of which fails and one of which has no reference."""
    names = {"_ARRAY_DIMENSIONS": ["y", "x"]}
    document: dict[str, Any] = {
        ".zgroup": {"zarr_format": 2},
        "x/.zarray": ZARRAY | {"shape": [SIZE, SIZE], "chunks": [CHUNK, CHUNK], "fill_value": None},
        "x/.zattrs": names | attributes,
    }
    body = b""
    for row, column in np.ndindex(SIZE // CHUNK, SIZE // CHUNK):
        rows, columns = (slice(at * CHUNK, (at + 1) * CHUNK) for at in (row, column))
        data = VALUES[rows, columns].tobytes()
        document[f"x/{row}.{column}"] = [f"{server.url}/f", len(body), len(data)]
        body += data
    document[LOST] = [f"{server.url}/gone", 0, CHUNK * CHUNK * 2]
    del document[ABSENT]
    server.files["/f"] = body
    return Host(document, allow=[server.url])


def known() -> np.ndarray:
    """Return the values of what can be read."""
    values = VALUES.astype(float)
    for row, column in ((3, 4), (5, 6)):
        values[row * CHUNK : (row + 1) * CHUNK, column * CHUNK : (column + 1) * CHUNK] = np.nan
    return values


def test_every_byte_of_a_slice_is_in_its_picture(server: RangeServer) -> None:
    here = host(server, {"scale_factor": 0.5, "add_offset": 1.0})
    reading, values = here.read("x", None, slices=[":", ":"])
    assert reading["blocks"] == [2, 2]
    assert reading["reduced"] == "mean"
    assert "the mean of 2 along y and 2 along x" in reading["message"] or reading["lost"]
    assert reading["chunks"] == {"fetched": 223, "fill": 1, "failed": 1}
    assert reading["lost"] == [
        {"index": [3, 4], "count": 1, "state": "failed"},
        {"index": [5, 6], "count": 1, "state": "fill"},
    ]
    expected = known().reshape(SIZE // 2, 2, SIZE // 2, 2).mean((1, 3)) * 0.5 + 1
    np.testing.assert_allclose(values.reshape(reading["shape"]), expected)
    assert (reading["minimum"], reading["maximum"]) == (1, 30_010 * 0.5 + 1)


def test_all_that_was_lost_is_reported_however_much_it_is() -> None:
    document: dict[str, Any] = {
        ".zgroup": {"zarr_format": 2},
        "x/.zarray": ZARRAY | {"shape": [40, 40], "chunks": [1, 1], "fill_value": None},
        "x/.zattrs": {"_ARRAY_DIMENSIONS": ["y", "x"]},
    }
    document |= {f"x/{at}.{at}": "base64:AQI=" for at in range(40)}
    document |= {f"x/{at}.3": "base64:AQ==" for at in range(10, 40)}  # a byte of two
    reading, _ = Host(document).read("x", None, slices=[":", ":"])
    assert reading["chunks"] == {"fetched": 40, "fill": 1530, "failed": 30}
    found = {
        (row, first + at): run["state"]
        for run in reading["lost"]
        for (row, first), count in [(run["index"], run["count"])]
        for at in range(count)
    }
    assert found == {
        (row, column): "failed" if column == 3 and row >= 10 else "fill"
        for row in range(40)
        for column in range(40)
        if row != column
    }
    assert len(reading["lost"]) < 150


def test_a_part_of_it_has_each_value_and_takes_no_request(server: RangeServer) -> None:
    here = host(server, {})
    here.read("x", None, slices=[":", ":"])
    asked = len(server.requests)
    plan = here.ask("slice.plan", array="x", slices=["650:1100", "120:333"])["plan"]
    assert plan["estimate"]["requests"] == 0
    reading, values = here.read("x", None, slices=["650:1100", "120:333"])
    assert reading["reduced"] is None
    np.testing.assert_array_equal(values.reshape(reading["shape"]), VALUES[650:1100, 120:333])
    assert len(server.requests) == asked


def test_flags_are_not_averaged(server: RangeServer) -> None:
    reading, values = host(server, {"flag_values": [0, 1]}).read("x", None, slices=[":", ":"])
    assert reading["reduced"] == "nearest"
    np.testing.assert_array_equal(values.reshape(reading["shape"]), known()[1::2, 1::2])


def test_cells_come_before_all_is_read(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "_SOON", 0.0)
    here = host(server, {})
    posted: list[tuple[Any, list[bytes]]] = []

    def post(message: Any, buffers: Any) -> None:
        posted.append((message, list(buffers)))
        here.posted.put((message, buffers))

    here.controller.post = post
    reading, final = here.read("x", None, slices=[":", ":"])
    came = [(message, buffers) for message, buffers in posted if message.get("ev") == "cells"]
    assert came
    cells = np.full(reading["shape"], np.nan)
    for message, (buffer,) in came:
        assert message["job"] == "t:2"
        assert message["reading"]["shape"] == reading["shape"]
        values, at = np.frombuffer(buffer, "<f8"), 0
        for rows, columns in message["boxes"]:
            shape = (rows[1] - rows[0], columns[1] - columns[0])
            cells[slice(*rows), slice(*columns)] = values[at : at + shape[0] * shape[1]].reshape(
                shape
            )
            at += shape[0] * shape[1]
        assert at == values.size
    drawn = ~np.isnan(cells)
    assert drawn.any()
    np.testing.assert_array_equal(cells[drawn], final.reshape(reading["shape"])[drawn])
