from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import refexplorer as rx
from refexplorer.io.decode.sizes import region
from refexplorer.spec.zarr_metadata import ArrayMeta
from refexplorer.views.preview import picture as blocks
from refexplorer.views.preview.picture import PictureBlocks, block_sizes
from refexplorer.views.preview.regions import Region, chunks_touched
from tests.helpers.sets import raw_set

VALUES = np.random.default_rng(0).normal(size=(23, 31))
VALUES[3:9, 4:20] = np.nan
VALUES[20, 20] = np.inf


def array() -> ArrayMeta:
    return rx.open_references(raw_set(shape=[23, 31], chunks=[4, 5])).array("x")


def filled(
    places: Region, *, is_mean: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> PictureBlocks:
    """Return the cells of chunks that came in no order."""
    monkeypatch.setattr(blocks, "block_sizes", lambda shape, colours=None: block_sizes(shape, most))
    made = PictureBlocks(array(), places, is_mean)
    indices = list(chunks_touched(array(), places))
    for at in np.random.default_rng(1).permutation(len(indices)):
        part = VALUES[region(array(), indices[at])]
        made.add(indices[at], part, part)
    return made


@pytest.mark.parametrize("most", [1, 7, 60, 200, 10**4])
@pytest.mark.parametrize(
    "places",
    [(range(23), range(31)), (range(2, 21), range(30)), (range(0, 23, 3), range(1, 31, 2))],
)
def test_a_cell_is_the_mean_of_its_values_though_they_are_of_several_chunks(
    places: Region, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = filled(places, is_mean=True, most=most, monkeypatch=monkeypatch)
    part = VALUES[np.ix_(*places)]
    for cell in np.ndindex(made.shape):
        inside = part[
            tuple(slice(at * n, at * n + n) for at, n in zip(cell, made.sizes, strict=True))
        ]
        known = inside[~np.isnan(inside)]
        expected = known.mean() if known.size else np.nan
        np.testing.assert_allclose(made.cells[cell], expected)
    finite = part[np.isfinite(part)]
    assert (made.minimum, made.maximum) == (finite.min(), finite.max())
    assert made.missing == np.isnan(part).sum()


@pytest.mark.parametrize("most", [7, 60, 200])
def test_a_flag_is_one_that_is_there(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    places = (range(23), range(31))
    made = filled(places, is_mean=False, most=most, monkeypatch=monkeypatch)
    for cell in np.ndindex(made.shape):
        middle = tuple(
            min(at * size + size // 2, length - 1)
            for at, size, length in zip(cell, made.sizes, VALUES.shape, strict=True)
        )
        np.testing.assert_equal(made.cells[cell], VALUES[middle])


@pytest.mark.parametrize(
    "shape",
    [(), (1,), (10**7,), (5424, 5424), (3, 5424, 5424), (40, 10**5), (10**5, 2), (10**4,) * 3],
)
def test_few_enough_cells_are_left(shape: tuple[int, ...]) -> None:
    sizes = block_sizes(shape)
    cells = [-(-n // size) for n, size in zip(shape, sizes, strict=True)]
    assert math.prod(cells) <= blocks.CELLS
    if math.prod(shape) <= blocks.CELLS:
        assert set(sizes) <= {1}


def test_a_square_stays_a_square_and_time_is_not_averaged() -> None:
    assert block_sizes((1, 5424, 5424)) == (1, 6, 6)
    assert block_sizes((3, 5424, 5424))[0] == 1
    assert len(set(itertools.islice(block_sizes((3, 5424, 5424)), 1, None))) == 1
