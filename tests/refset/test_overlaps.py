"""Ranges that share bytes, against a comparison of each with each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import refexplorer as rx


@pytest.mark.parametrize("seed", range(30))
def test_each_range_is_compared_with_each_other(seed: int) -> None:
    random = np.random.default_rng(seed)
    widest = (4, 12, 60)[seed % 3]
    refs: dict[str, Any] = {
        f"a/{n}": [
            f"f{random.integers(3)}",
            int(random.integers(120)),
            int(random.integers(widest)),
        ]
        for n in range(25)
    }
    meta = '{"zarr_format":2,"shape":[25],"chunks":[1],"dtype":"|u1","fill_value":0,'
    refs["a/.zarray"] = meta + '"order":"C","filters":null,"compressor":null}'
    refs["a/25"] = ["f1"]  # all of a file shares no range with another
    ranges = [(key, *value) for key, value in refs.items() if len(value) == 3 and value[2] > 0]
    expected = [
        key
        for key, url, start, size in ranges
        if any(
            (url, start, size) != other and other[0] == url
            and start < other[1] + other[2] and other[1] < start + size
            for other in (each[1:] for each in ranges)
        )
    ]  # fmt: skip
    index = rx.open_references(refs)._internals.target_index
    assert sorted(index.shared_keys("a")) == sorted(expected)
    assert index.shared_counts == ({"a": len(expected)} if expected else {})
