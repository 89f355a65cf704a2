"""Names of chunks that are written alike, and columns that mix them with others."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from refexplorer.formats.columns.chunk_names import alike_numbers, read_indices
from refexplorer.formats.columns.references import text_column
from refexplorer.formats.columns.texts import spans_of

ODD = (
    ".zarray", "x/.zattrs", "x/01.2", "x/1.02", "x/1.2.3", "x/1", "x/1.", "x/.2", "x/a.2", "x/1:2",
    "x/-1.2", "y/1.2", "x/123456789.2", "x/1234567890123456789.2", "x/1/2", "é/1.2", "x/1.²", "",
)  # fmt: skip


def expected(keys: list[str], start: str, separator: str, rank: int) -> dict[int, list[int]]:
    """Read each name by itself."""
    number = r"(0|[1-9][0-9]{0,17})"
    pattern = re.compile(re.escape(start) + re.escape(separator).join([number] * rank))
    matches = map(pattern.fullmatch, keys)
    return {row: [*map(int, match.groups())] for row, match in enumerate(matches) if match}


@pytest.mark.parametrize("seed", range(60))
def test_mixed_names_are_read_as_each_by_itself(seed: int) -> None:
    rng = random.Random(seed)
    start, separator = rng.choice(["x/", "x/c/", "", "a long name of an array/"]), rng.choice("./")
    rank = rng.randint(1, 4)
    top = [10 ** rng.randint(1, 8) for _ in range(rank)]
    grid = [separator.join(str(rng.randrange(most)) for most in top) for _ in range(1_500)]
    keys = [start + name for name in grid]
    for _ in range(rng.choice([0, 0, 3, 200])):
        odd = rng.choice(ODD)
        keys.insert(rng.randrange(len(keys)), odd.replace(".", separator))
    rows = np.arange(len(keys))
    if rng.random() < 0.5:
        rng.shuffle(keys)
        rows = rows[rng.randrange(9) :: 2]
    # a column that is a slice has its bytes further on in its buffer
    column = text_column(["before it", *keys]).slice(1)
    positions, indices = read_indices(column, rows, start, separator, rank)
    wanted = expected([keys[row] for row in rows.tolist()], start, separator, rank)
    assert dict(zip(positions.tolist(), indices.tolist(), strict=True)) == wanted
    assert positions.tolist() == sorted(wanted)


def test_names_of_a_grid_are_read_as_alike() -> None:
    keys = [f"x/{t}.{y}" for t in range(95, 1_005) for y in range(12)]
    known, numbers = np.zeros(len(keys), np.bool_), np.zeros((2, len(keys)), np.int64)
    alike_numbers(spans_of(text_column(keys)), "x/", ".", known, numbers)
    rows = np.arange(len(keys))[known]  # all but two layouts that few names have
    assert len(rows) > 0.98 * len(keys)
    assert numbers[:, known].tolist() == [(rows // 12 + 95).tolist(), (rows % 12).tolist()]


def test_what_is_no_name_is_not_read_as_one() -> None:
    keys = [f"x/{n:03}.0" for n in range(1_000)]
    known, numbers = np.zeros(len(keys), np.bool_), np.zeros((2, len(keys)), np.int64)
    alike_numbers(spans_of(text_column(keys)), "x/", ".", known, numbers)
    assert np.flatnonzero(known).tolist() == [*range(100, 1_000)]
