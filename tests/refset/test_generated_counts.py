"""How many chunks of an array a large gen item makes: exact by arithmetic, or not known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.refset.arrays import count_by_arithmetic
from refexplorer.refset.generated import Generated
from refexplorer.refset.opened_set import internals


def opened(
    key: str, dimensions: dict[str, Any], shape: list[int], **fields: str
) -> rx.ReferenceSet:
    """One array of chunks of one element, whose chunks a gen item makes."""
    metadata = {
        "zarr_format": 2, "shape": shape, "chunks": [1] * len(shape), "dtype": "<i2",
        "compressor": None, "filters": None, "fill_value": -1, "order": "C",
    }  # fmt: skip
    item = {"key": key, "url": "u", "dimensions": dimensions} | fields
    refs = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(metadata)}
    return rx.open_references({"version": 1, "refs": refs, "gen": [item]})


def ranges() -> Any:
    numbers = st.integers(0, 40)
    stepped = st.tuples(numbers, numbers, st.integers(-7, 7).filter(bool)).map(
        lambda given: {"start": given[0], "stop": given[1], "step": given[2]}
    )
    return stepped | st.lists(numbers, max_size=6, unique=True)


PLAIN = ["x/{{i}}.{{j}}", "x/{{j}}.{{i}}", "x/{{i + 3}}.{{j}}", "x/0.{{i}}"]
"""Each number of a key is a dimension of its own plus a constant: these are always counted."""
AFFINE = ["x/{{i}}.{{j * 2}}", "x/{{i}}.{{i}}"]
"""These are counted where all keys are chunks."""
OTHERS = [
    "x/{{i // 4}}.{{i % 4}}", "x/{{i + 50 * j}}.7", "x/{{'%02d' % i}}.{{j}}", "x/{{i}}.{{j - 5}}",
    "x/a{{i}}.{{j}}",
]  # fmt: skip
"""These may not be known."""


# neither the first key nor the last one is padded with a zero, but the one between them is
@example([10, 0, 11], [0], 20, 1, "x/{{'%02d' % i}}.{{j}}")
@settings(max_examples=3 * settings().max_examples)
@given(
    ranges(),
    ranges(),
    st.integers(1, 45),
    st.integers(1, 45),
    st.sampled_from([*PLAIN, *AFFINE, *OTHERS]),
)
def test_what_arithmetic_shows_is_what_listing_gives(
    i: Any, j: Any, rows: int, columns: int, key: str
) -> None:
    refs = opened(key, {"i": i, "j": j}, [rows, columns])
    array = refs.array("x")
    for segment in internals(refs).opened.segments:
        assert isinstance(segment, Generated)
        counted = count_by_arithmetic(segment, array)
        listed = sum(
            index is not None and array.contains(index)
            for index in (array.chunk_index(name) for name, _ in segment.iterate())
        )
        assert counted in (None, listed)
        is_exact = key in PLAIN or (key in AFFINE and listed == segment.count)
        assert counted is not None or not is_exact


@pytest.mark.parametrize(
    ("key", "dimensions", "missing"),
    [
        ("x/{{i}}", {"i": {"stop": 10**6}}, 10**6),
        ("x/{{i + 1}}", {"i": {"stop": 2 * 10**6}}, 1),
        ("x/{{i}}", {"i": {"start": 10**6, "stop": 3 * 10**6}}, 10**6),
        ("x/{{i * 2}}", {"i": {"stop": 10**6}}, 10**6),
        ("x/{{i * 2}}", {"i": {"stop": 10**6 + 1}}, None),
        ("x/{{'%07d' % i}}", {"i": {"stop": 10**6}}, None),
    ],
)
def test_chunks_that_a_large_gen_leaves_out_or_puts_outside(
    key: str, dimensions: dict[str, Any], missing: int | None
) -> None:
    refs = opened(key, dimensions, [2 * 10**6])
    assert refs.summary("x").missing == missing
    noted = [found for found in refs.diagnostics if found.code == "missing-chunks"]
    assert bool(noted) is bool(missing)
    said = str(refs)
    assert ("chunks without a reference not counted" in said) is (missing is None)


def test_a_refused_gen_of_many_keys_is_not_counted_as_missing() -> None:
    refs = opened(
        "x/{{i}}", {"i": {"stop": 300_000}}, [300_000], offset="{{4 // i}}", length="4"
    )  # fmt: skip
    summary = refs.summary()
    assert (summary.missing, summary.left_out) == (None, None)


def test_keys_that_are_few_are_made_to_be_counted() -> None:
    refs = opened("x/{{'%05d' % i}}", {"i": {"stop": 20_000}}, [20_000])
    assert refs.summary().missing == 10_000
