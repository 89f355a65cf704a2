"""Values that are more than a number each: structured ones, and colours."""

from __future__ import annotations

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.views.preview.axes import first_look
from refexplorer.views.preview.picture import block_sizes
from refexplorer.views.preview.regions import channels_of
from tests.helpers.explorer import Host
from tests.helpers.sets import held_array

STRUCTURED = np.dtype([("name", "S4"), ("t", "<f8"), ("n", "<i4")])


def test_a_field_of_structured_values_is_chosen() -> None:
    values = np.zeros(3, STRUCTURED)
    values["name"], values["t"], values["n"] = [b"a", b"b", b"c"], [0.5, 1.5, 2.5], [3, 4, 5]
    dtype = [["name", "|S4"], ["t", "<f8"], ["n", "<i4"]]
    host = Host(held_array(values, dtype, ["obs"], [3]))
    reading, numbers = host.read("x", None, slices=[":"])
    assert (reading["fields"], reading["field"]) == (["name", "t", "n"], "t")
    assert numbers.tolist() == [0.5, 1.5, 2.5]
    assert (reading["minimum"], reading["maximum"]) == (0.5, 2.5)
    assert host.read("x", None, slices=[":"], field="n")[1].tolist() == [3, 4, 5]
    names, nothing = host.read("x", None, slices=[":"], field="name")
    assert (names["texts"], nothing) == (["a", "b", "c"], None)
    whole, nothing = host.read("x", None, slices=[":"], field="")
    assert (whole["field"], nothing) == (None, None)
    assert "0.5" in whole["texts"][0]


@pytest.mark.parametrize(
    ("names", "shape", "dtype", "axis"),
    [
        (["y", "x", "rgb"], (9, 9, 3), "<f4", 2),
        (["band", "y", "x"], (4, 9, 9), "|u1", 0),
        (["band", "y", "x"], (4, 9, 9), "<f4", None),
        ([], (9, 9, 3), "|u1", 2),
        ([], (9, 9, 3), "<i2", None),
        (["y", "rgb"], (9, 3), "|u1", None),
        (["y", "x", "rgb"], (9, 9, 2), "|u1", None),
        (["time", "y", "x"], (3, 9, 9), "|u1", None),
    ],
)
def test_a_dimension_asks_for_colours(
    names: list[str], shape: tuple[int, ...], dtype: str, axis: int | None
) -> None:
    values = np.zeros(shape, dtype)
    document = held_array(values, dtype, names, list(shape))
    assert channels_of(rx.open_references(document).array("x")) == axis


def test_colours_are_read_together_and_not_averaged() -> None:
    values = np.arange(2 * 60 * 50 * 3, dtype="u1").reshape(2, 60, 50, 3)
    document = held_array(values, "|u1", ["time", "y", "x", "c"], [1, 20, 25, 1])
    refs = rx.open_references(document)
    reading, cells = Host(refs).read("x", None, slices=["1", ":", ":", ":"])
    assert reading["channels"] == 3
    np.testing.assert_array_equal(cells.reshape(reading["shape"]), values[1:])
    sizes = {key: ["s3://b/f", 0, 500] for key in refs if key.startswith("x/") and key[2] != "."}
    remote = rx.open_references(document | sizes)
    assert first_look(remote, remote.array("x"), 10_000)[3] == range(3)
    assert first_look(remote, remote.array("x"), 10_000)[0] == range(1)
    assert block_sizes((3000, 3000, 3), 10**6, colours=2)[2] == 1
