from __future__ import annotations

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.core.errors import LimitError, RefexplorerError
from refexplorer.io.decode.sizes import inside, region
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.views.preview.regions import (
    chunks_touched,
    parse,
    slices,
    whole,
)
from tests.helpers.sets import raw_set


def array(shape: list[int], chunks: list[int]) -> ArrayMeta:
    refs = rx.open_references(raw_set(shape=shape, chunks=chunks))
    return refs.array("x")


@pytest.mark.parametrize(
    ("text", "places", "written"),
    [
        (":", range(10), ":"),
        ("3", range(3, 4), "3"),
        ("2:5", range(2, 5), "2:5"),
        ("::4", range(0, 10, 4), "::4"),
        (" 1 : 9 : 2 ", range(1, 9, 2), "1:9:2"),
        ("-2:", range(8, 10), "8:"),
        ("5:99", range(5, 10), "5:"),
        ("-1", range(9, 10), "9"),
        ("-10", range(1), "0"),
    ],
)
def test_slices_are_read_and_written_as_python_does(text: str, places: range, written: str) -> None:
    meta = array([10], [4])
    assert parse(meta, [text]) == (places,)
    assert slices(meta, (places,)) == (written,)


@pytest.mark.parametrize("text", ["", "x", "1.5", "10", "-11", "5:5", "::0", "1:2:3:4"])
def test_what_is_no_slice_is_refused_by_the_name_of_its_dimension(text: str) -> None:
    with pytest.raises(RefexplorerError, match=r"^x: "):
        parse(array([10], [4]), [text])


def test_a_step_of_zero_is_distinguished_from_what_is_no_slice() -> None:
    with pytest.raises(RefexplorerError, match=r"^x: the step of 1::0 is 0"):
        parse(array([10], [4]), ["1::0"])


def test_all_of_a_large_array_is_too_much() -> None:
    meta = array([20_000, 30_000], [1000, 1000])
    with pytest.raises(LimitError, match="600 chunks"):
        list(chunks_touched(meta, whole(meta)))


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 40])
def test_chunks_hold_every_place_once(step: int) -> None:
    meta = array([23, 11], [4, 3])
    places = (range(2, 21, step), range(1, 11))
    found = np.zeros(tuple(map(len, places)), int)
    numbers = np.arange(23 * 11).reshape(23, 11)
    seen = np.full(found.shape, -1)
    for index in chunks_touched(meta, places):
        parts = region(meta, index)
        pairs = [inside(*each) for each in zip(places, parts, strict=True)]
        into, of = (tuple(side) for side in zip(*pairs, strict=True))
        found[into] += 1
        seen[into] = numbers[parts][of]
    assert (found == 1).all()
    np.testing.assert_array_equal(seen, numbers[2:21:step, 1:11])


@pytest.mark.parametrize("size", [10**12, 10**19])
def test_chunks_that_no_memory_can_list_are_counted(size: int) -> None:
    meta = array([size], [2])
    for text, count in ((":", size // 2), ("::4", size // 4)):
        with pytest.raises(LimitError, match=f"{count:,} chunks"):
            chunks_touched(meta, parse(meta, [text]))
    last = parse(meta, [f"{size - 1}"])
    assert list(chunks_touched(meta, last)) == [(size // 2 - 1,)]
    assert slices(meta, last) == (f"{size - 1}",)
