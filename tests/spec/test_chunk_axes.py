"""Chunks of varying lengths along a dimension, against plain lists of their edges."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.spec.chunk_axes import ChunkAxis, read_axis
from refexplorer.spec.zarr_metadata import BadMetadata, read_array

LENGTHS = st.lists(st.integers(1, 6) | st.tuples(st.integers(1, 6), st.integers(1, 4)), min_size=1)
RECTILINEAR = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[2, 3]]}}
ARRAY = {
    "zarr_format": 3, "node_type": "array", "shape": [5], "data_type": "int32",
    "chunk_grid": RECTILINEAR, "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}  # fmt: skip


def with_grid(**settings: object) -> dict[str, object]:
    return ARRAY | {"chunk_grid": {"name": "rectilinear", "configuration": settings}}


def edges_of(written: list[Any]) -> list[int]:
    pairs = (list(each) if isinstance(each, tuple) else [each, 1] for each in written)
    return [length for length, count in pairs for _ in range(count)]


@given(LENGTHS, st.data())
def test_every_answer_is_that_of_the_list_of_edges(
    written: list[object], data: st.DataObject
) -> None:
    edges = edges_of(written)
    stops = list(itertools.accumulate(edges))
    extent = data.draw(st.integers(1, stops[-1]))
    axis = read_axis([list(e) if isinstance(e, tuple) else e for e in written], extent, 0)
    assert isinstance(axis, ChunkAxis)
    owners = [next(i for i, stop in enumerate(stops) if place < stop) for place in range(extent)]
    numbers = range(owners[-1] + 1)
    assert axis.count == len(numbers)
    assert [axis.number_at(place) for place in range(extent)] == owners
    assert [axis.length_at(number) for number in numbers] == edges[: len(numbers)]
    assert axis.numbers_at(np.arange(extent)).tolist() == owners
    assert axis.lengths_of(np.arange(len(numbers))).tolist() == edges[: len(numbers)]
    parts = [axis.part(number) for number in numbers]
    assert [each.start for each in parts] == axis.starts_of(np.arange(len(numbers))).tolist()
    assert [place for each in parts for place in range(extent)[each]] == list(range(extent))
    places = range(extent)[data.draw(st.slices(extent))]
    count, touched = axis.touched(places)
    assert list(touched) == sorted({owners[place] for place in places})
    assert count == len({owners[place] for place in places})


def test_a_few_characters_may_stand_for_any_number_of_chunks() -> None:
    axis = read_axis([[1, 10**15], [2, 10**15]], 10**15 + 10, 0)
    assert isinstance(axis, ChunkAxis)
    assert (axis.count, len(axis.lengths)) == (10**15 + 5, 2)
    assert axis.part(10**15 + 1) == slice(10**15 + 2, 10**15 + 4)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kind": "inline", "chunk_shapes": [[2, 2]]}, "The chunk lengths of dimension 0 add up"),
        ({"kind": "inline", "chunk_shapes": [[2, 3], 1]}, "The chunk shape has 2 dimensions"),
        ({"kind": "inline", "chunk_shapes": [[]]}, "must be a positive integer or a list"),
        ({"kind": "inline", "chunk_shapes": [[2, [3, 0]]]}, "or a list [length, count]"),
        ({"kind": "inline", "chunk_shapes": [[2, True, 3]]}, "or a list [length, count]"),
        ({"kind": "inline", "chunk_shapes": 5}, "`chunk_shapes` must be a list"),
        ({"kind": "other", "chunk_shapes": [[2, 3]]}, "of kind 'other' is not known"),
    ],
)
def test_a_broken_grid_gets_one_sentence(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadMetadata, match=sentence.replace("[", r"\[")):
        read_array("x", with_grid(**settings))


def test_grids_and_key_encodings_that_are_not_known_are_named() -> None:
    with pytest.raises(BadMetadata, match="chunk grid 'hexagonal' is not known"):
        read_array("x", ARRAY | {"chunk_grid": {"name": "hexagonal"}})
    with pytest.raises(BadMetadata, match="chunk key encoding 'suffix' is not known"):
        read_array("x", ARRAY | {"chunk_key_encoding": {"name": "suffix"}})
    assert read_array("x", ARRAY | {"chunk_key_encoding": "v2"}).chunk_key((1,)) == "x/1"


def test_a_chunk_is_decoded_with_its_own_shape() -> None:
    array = read_array("x", ARRAY)
    assert (array.chunks, array.grid, array.encoded_size) == ((3,), (2,), None)
    assert [array.chunk_array((number,)).encoded_size for number in (0, 1)] == [8, 12]
    assert array.chunk_at((2,)) == (1,)
    assert array.element_counts(np.array([[0], [1]])).tolist() == [2, 3]


def test_metadata_that_cannot_be_used_is_not_called_missing() -> None:
    document = ARRAY | {"chunk_grid": {"name": "hexagonal"}}
    group = {"zarr_format": 3, "node_type": "group"}
    references = {"zarr.json": json.dumps(group), "x/zarr.json": json.dumps(document), "x/c/0": "a"}
    (orphan,) = [
        each for each in rx.open_references(references).diagnostics if each.code == "orphan-chunk"
    ]
    assert orphan.message.endswith("but the metadata `x/zarr.json` cannot be used.")
