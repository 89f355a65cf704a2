"""The order of rows by folder."""

from __future__ import annotations

import numpy as np
import pytest

from refexplorer.formats.columns.table import build_table
from refexplorer.refset.tree import Tree
from refexplorer.spec.references import Range


@pytest.mark.parametrize("longest", [1, 2, 9])
@pytest.mark.parametrize("seed", range(10))
def test_rows_of_each_folder_are_in_order(seed: int, longest: int) -> None:
    """Of keys that come in runs, as files are combined, and of those that change each time."""
    rng = np.random.default_rng(seed)
    names = np.repeat(rng.integers(0, 4, 50), rng.integers(1, longest + 1, 50)).tolist()
    keys = [f"{'abcd'[name]}/{number}" for number, name in enumerate(names)]
    table = build_table((key, Range("s3://b/f", 0, 1)) for key in keys)
    tree = Tree(table, [])
    for name in "abcd":
        folder = tree.folder(name)
        wanted = [row for row, key in enumerate(keys) if key.startswith(name)]
        assert ([] if folder is None else tree.rows_in(folder).tolist()) == wanted
    assert sorted(tree.rows_below(tree.root).tolist()) == [*range(len(keys))]
