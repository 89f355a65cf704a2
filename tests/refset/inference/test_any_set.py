"""Whatever references a set holds, what is inferred expands to exactly the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import refexplorer as rx
from tests.helpers.strategies import texts, values

urls = st.sampled_from(["s3://b/f_{}.nc", "h/{}/{}", "{{{{u}}}}{}", "f{}{}", "{{%{}"])
small = st.integers(0, 12)


@st.composite
def grids(draw: st.DrawFn) -> dict[str, Any]:
    """Draw references on a grid that mostly follow progressions."""
    rows, columns, block = draw(small), draw(small), draw(st.integers(1, 4))
    name, url = draw(texts), draw(urls)
    step, tile, pad = draw(st.integers(0, 5)), draw(st.integers(-3, 3)), draw(st.integers(1, 3))
    return {
        f"{name}{i:0{pad}d}.{j}": [
            url.format(i // block, f"{j:0{pad}d}"),
            99 + i * step + j * tile,
            7,
        ]
        for i in range(rows)
        for j in range(columns)
    }


@given(st.lists(grids(), max_size=3), st.dictionaries(texts, values, max_size=6), st.data())
@settings(max_examples=2 * settings().max_examples)
def test_expansion_is_the_input(
    parts: list[dict[str, Any]], more: dict[str, Any], data: st.DataObject
) -> None:
    given_set = {key: value for part in parts for key, value in part.items()} | more
    if given_set:
        for key in data.draw(st.sets(st.sampled_from(sorted(given_set)), max_size=12)):
            del given_set[key]
    refs = rx.open_references(given_set)
    found = rx.infer(refs)
    assert rx.open_references(found.document).to_v0() == refs.to_v0()
    assert found.size_after <= found.size_before
    assert found.keys == found.generated + len(found.explicit_keys())
