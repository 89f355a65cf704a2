"""The grid of chunks against the same questions asked of a plain dict."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.refset.chunk_grid import STATES
from tests.helpers.sets import metadata

SHAPE = (5, 4, 3)


references = st.one_of(
    st.just("text"),
    st.just("base64:AAEC"),
    st.sampled_from(["a.nc", "b.nc"]).map(lambda url: [url]),
    st.tuples(st.sampled_from(["a.nc", "b.nc", "c.nc"]), st.integers(0, 99), st.integers(0, 9)),
)
indices = st.tuples(*(st.integers(0, size) for size in SHAPE))
windows = st.tuples(
    *(
        st.sets(st.integers(0, size), min_size=2, max_size=2).map(
            lambda ends: (min(ends), max(ends))
        )
        for size in SHAPE
    )
)


def opened(chunks: dict[tuple[int, ...], Any]) -> rx.ReferenceSet:
    named = {f"v/{'.'.join(map(str, index))}": value for index, value in chunks.items()}
    return rx.open_references({"v/.zarray": metadata(SHAPE), "w/0": ["other.nc"], **named})


def state_of(value: Any) -> str:
    if isinstance(value, str):
        return "base64" if value.startswith("base64:") else "inline"
    return "url" if len(value) == 1 else "range"


@given(st.dictionaries(indices, references, max_size=30))
def test_every_chunk_is_reported_as_a_dict_shows_it(chunks: dict[tuple[int, ...], Any]) -> None:
    grid = opened(chunks).chunk_grid("v")
    states, targets, offsets, lengths = grid.states, grid.targets, grid.offsets, grid.lengths
    for index in itertools.product(*map(range, SHAPE)):
        value: Any = chunks.get(index)
        assert STATES[states[index]] == ("absent" if value is None else state_of(value))
        url = value[0] if isinstance(value, list | tuple) else None
        assert (grid.urls[targets[index]] if targets[index] >= 0 else None) == url
        offset, length = value[1:] if STATES[states[index]] == "range" else (-1, None)
        assert offsets[index] == offset
        assert length is None or lengths[index] == length
    outside = {index for index in chunks if any(i >= n for i, n in zip(index, SHAPE, strict=True))}
    assert set(map(tuple, grid.outside.indices.tolist())) == outside
    assert "other.nc" not in grid.urls


@given(
    st.dictionaries(indices, references, max_size=30),
    st.permutations(range(3)).map(lambda axes: axes[:2]),
    windows,
    st.integers(1, 5),
)
def test_cells_count_what_lies_in_them(
    chunks: dict[tuple[int, ...], Any],
    axes: list[int],
    window: tuple[tuple[int, int], ...],
    cells: int,
) -> None:
    view = opened(chunks).chunk_grid("v").view(axes, window, cells)
    assert max(view.shape) <= cells
    rows, columns = view.sides
    counts, sizes = np.zeros((len(STATES), *view.shape)), np.zeros(view.shape)
    for index in itertools.product(*(range(*each) for each in window)):
        row = (index[rows.axis] - rows.start) // rows.step
        column = (index[columns.axis] - columns.start) // columns.step
        value = chunks.get(index)
        state = "absent" if value is None else state_of(value)
        counts[STATES.index(state), row, column] += 1
        sizes[row, column] += {"inline": 4, "base64": 3, "range": value[-1] if value else 0}.get(
            state, 0
        )
    np.testing.assert_array_equal(view.counts, counts)
    sizes[counts[STATES.index("url")] > 0] = -1
    np.testing.assert_array_equal(view.sizes, sizes)
    np.testing.assert_array_equal(view.totals, counts.sum(axis=0))
    assert not view.sampled


def test_the_most_frequent_target_stands_for_a_cell() -> None:
    chunks: dict[tuple[int, ...], Any] = {
        (0, 0, 0): ["a.nc", 7, 1],
        (0, 1, 0): ["b.nc", 5, 1],
        (0, 2, 0): ["b.nc", 9, 1],
    }
    grid = opened(chunks).chunk_grid("v")
    view = grid.view([0], None, 1)
    assert grid.urls[view.targets[0, 0]] == "b.nc"
    assert (view.distinct[0, 0], view.offsets[0, 0], view.shape) == (2, 5, (1, 1))


def test_generated_explicit_and_absent_chunks_meet() -> None:
    item = {
        "key": "v/{{i}}.{{j}}.0",
        "url": "f{{i}}.nc",
        "offset": "{{10 * j}}",
        "length": "10",
        "dimensions": {"i": {"stop": 5}, "j": {"stop": 3}},
    }
    refs = {"v/.zarray": metadata(SHAPE), "v/0.3.0": "inline"}
    grid = rx.open_references({"version": 1, "gen": [item], "refs": refs}).chunk_grid("v")
    assert grid.complete
    assert np.bincount(grid.states.ravel()).tolist() == [60 - 16, 1, 0, 0, 15]
    assert grid.urls[grid.targets[3, 2, 0]] == "f3.nc"
    assert grid.offsets[3, 2, 0] == 20


def test_very_many_generated_chunks_cost_no_more_than_the_picture() -> None:
    size = 10**6
    item = {
        "key": "v/{{i}}.{{j}}",
        "url": "f{{i}}.nc",
        "dimensions": {"i": {"stop": size}, "j": {"stop": size // 2}},
    }
    refs = {"v/.zarray": metadata((size, size)), f"v/7.{size - 1}": "inline"}
    grid = rx.open_references({"version": 1, "gen": [item], "refs": refs}).chunk_grid("v")
    whole = grid.view()
    assert whole.sampled
    assert whole.totals.sum() == 10**12
    assert 0.4 < (whole.targets >= 0).mean() < 0.6
    part = grid.view(window=((5, 9), (size // 2 - 2, size // 2 + 2)))
    assert not part.sampled
    assert part.counts[0].tolist() == [[0, 0, 1, 1]] * 4
    assert [grid.urls[code] for code in part.targets[:, 0]] == ["f5.nc", "f6.nc", "f7.nc", "f8.nc"]
    with pytest.raises(rx.errors.LimitError, match="1,000,000,000,000 chunks"):
        grid.states  # noqa: B018


def test_a_parquet_store_says_the_same_as_the_json(demo: Path) -> None:
    one = rx.open_references(demo / "sst.v0.json").chunk_grid("sst")
    other = rx.open_references(demo / "sst.parq").chunk_grid("sst")
    for name in ("states", "offsets", "lengths"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert [one.urls[at] for at in one.targets.flat] == [
        other.urls[at] for at in other.targets.flat
    ]


@pytest.mark.parametrize(
    ("shape", "chunk", "states"),
    [((), {"v/0": "x"}, 1), ((), {}, 0), ((0, 3), {}, []), ((2,), {"v/1": "x"}, [0, 1])],
)
def test_few_dimensions(shape: tuple[int, ...], chunk: dict[str, str], states: Any) -> None:
    grid = rx.open_references({"v/.zarray": metadata(shape), **chunk}).chunk_grid("v")
    assert grid.states.tolist() == states
    assert grid.view().counts.sum() == grid.array.chunk_count


def test_a_wrong_question_is_refused() -> None:
    grid = opened({}).chunk_grid("v")
    with pytest.raises(rx.RefexplorerError, match="up to two of the 3 dimensions"):
        grid.view([0, 3])
    with pytest.raises(rx.RefexplorerError, match="not a window of a grid"):
        grid.view(window=[(0, 5), (0, 4), (2, 4)])
    with pytest.raises(KeyError):
        opened({}).chunk_grid("w")


@pytest.mark.parametrize(
    ("shape", "inside", "outside"),
    [
        ([10**20], ["0", "7"], [str(10**20), str(10**25)]),
        ([2**63], ["0"], [str(2**63)]),
        ([10**20, 3], ["0.2"], ["0.3"]),
        ([0, 10**20], [], ["0.0"]),
    ],
)
def test_a_grid_of_more_chunks_than_64_bits_can_number(
    shape: list[int], inside: list[str], outside: list[str], tmp_path: Path
) -> None:
    explicit = {f"e/{name}": ["http://h", 0, 1 + n] for n, name in enumerate(inside + outside)}
    refs = rx.open_references({"e/.zarray": metadata(shape), **explicit, "e/-1": "q"})
    found = [each.key for each in refs.diagnostics if each.code == "chunk-outside-grid"]
    assert found == [f"e/{name}" for name in outside]
    assert refs.summary().missing == math.prod(shape) - len(inside)
    grid = refs.chunk_grid("e")
    assert len(grid.chunks) == grid.view().counts[1:].sum() == len(inside)
    refs.to_json(tmp_path / "refs.json")


def test_a_store_of_more_chunks_than_64_bits_can_number(tmp_path: Path) -> None:
    explicit = {f"e/{n}.0": ["http://h", n, 1] for n in range(3)}
    rx.open_references({"e/.zarray": metadata([3, 1]), **explicit}).to_parquet(tmp_path / "s")
    zmetadata = tmp_path / "s" / ".zmetadata"
    zmetadata.write_text(zmetadata.read_text().replace("[3,", f"[{10**20},"))
    refs = rx.open_references(tmp_path / "s")
    assert list(refs.find("*")) == list(refs) == ["e/.zarray", *explicit]
    assert refs.chunk_grid("e").view().counts[1:].sum() == 3
    refs.to_json(tmp_path / "refs.json")
    assert len(rx.open_references(tmp_path / "refs.json")) == 4


def test_a_generated_chunk_beyond_64_bits_has_a_place_in_a_picture() -> None:
    gen = [{"key": "e/{{i}}", "url": "http://h", "dimensions": {"i": {"stop": 10**20}}}]
    refs = rx.open_references({"version": 1, "refs": {"e/.zarray": metadata([10**20])}, "gen": gen})
    assert refs.chunk_grid("e").view().counts[3].all()
    gen[0]["dimensions"] = {"i": [0, 10**19]}
    refs = rx.open_references({"version": 1, "refs": {"e/.zarray": metadata([5])}, "gen": gen})
    assert refs.chunk_grid("e").view().counts[3].sum() == 1


@pytest.mark.parametrize("stop", [999, 100_200], ids=["all tried", "not all tried"])
def test_generated_chunks_whose_template_fails_are_left_out(stop: int) -> None:
    item = {
        "key": "v/{{i}}", "url": "u", "offset": "{{1000 + 100 // (i - 500)}}", "length": "4",
        "dimensions": {"i": {"stop": stop}},
    }  # fmt: skip
    bad = {f"v/{at}": ["u", -1, 4] for at in (3, stop + 5, stop + 20)}
    refs = {"v/.zarray": metadata((stop + 10,)), **bad}
    grid = rx.open_references({"version": 1, "refs": refs, "gen": [item]}).chunk_grid("v")
    assert grid.left_out.indices.tolist() == [[500], [stop + 5]]
    assert grid.states[[3, 500, stop + 5]].tolist() == [STATES.index("range"), 0, 0]


@pytest.mark.parametrize("shape", [(7, 5, 3), (60,), (1, 70_001), (3, 2, 4, 2)])
@pytest.mark.parametrize("step", [1, 3], ids=["all chunks", "a third"])
def test_record_files_give_the_pictures_of_the_json(
    shape: tuple[int, ...], step: int, tmp_path: Path
) -> None:
    """Record files are kept without indices, which pictures find from the chunk numbers."""
    named: dict[str, Any] = {}
    for number, index in list(enumerate(itertools.product(*map(range, shape))))[::step]:
        reference = ["a.nc", "b.nc", "c.nc"][number % 3], number * 7 % 100, number % 11 + 1
        named[f"v/{'.'.join(map(str, index))}"] = "text" if number % 10 == 9 else [*reference]
    refs = rx.open_references({"v/.zarray": metadata(shape), **named})
    refs.to_parquet(tmp_path / "s", record_size=13 if len(named) < 1000 else 10_000)
    one, other = refs.chunk_grid("v"), rx.open_references(tmp_path / "s").chunk_grid("v")
    for axes in [None, *itertools.permutations(range(len(shape)), min(2, len(shape)))]:
        for window in (None, [(size // 3, size - size // 4) for size in shape]):
            expected, found = one.view(axes, window, 4), other.view(axes, window, 4)
            for name in ("counts", "offsets", "sizes", "distinct"):
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
            urls = [
                [g.urls[c] for c in v.targets.flat] for g, v in ((one, expected), (other, found))
            ]
            assert urls[0] == urls[1]
    assert not len(other.outside)
    np.testing.assert_array_equal(other.states, one.states)
