from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.refset.generated import OverrideLimits
from refexplorer.refset.opened_set import OpenedSet, internals, open_document
from refexplorer.spec.document import read_document
from refexplorer.spec.findings import Findings
from tests.helpers.expanding import expanded

NUMBERS = st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True)
ITEMS = st.builds(
    lambda key, first, second: {
        "key": key,
        "url": "http://h/{{i}}",
        "dimensions": {"i": first, "j": second},
    },
    st.sampled_from(["x/{{i}}.{{j}}", "x/{{i + 1}}.{{j}}", "x/y/{{i}}.{{j}}", "{{i}}.{{j}}"]),
    NUMBERS,
    NUMBERS,
)
KEYS = st.sampled_from(
    [f"{folder}{i}.{j}" for folder in ("x/", "x/y/", "") for i in "1279" for j in "03"]
)


def opened_with(document: dict[str, Any], effort: OverrideLimits) -> tuple[OpenedSet, Findings]:
    findings = Findings()
    read = read_document(document, findings=findings)
    return open_document(read, effort=effort), findings


@given(st.lists(ITEMS, min_size=1, max_size=5), st.sets(KEYS), st.sampled_from([0, 1000]))
def test_the_last_that_makes_a_key_counts_however_they_are_compared(
    items: list[dict[str, Any]], keys: set[str], few: int
) -> None:
    document = {
        "version": 1,
        "gen": [item | {"url": f"http://{n}/{{{{i}}}}"} for n, item in enumerate(items)],
        "refs": dict.fromkeys(keys, "explicit"),
    }
    opened, findings = opened_with(document, OverrideLimits(few_looks=few))
    listed = [key for key, _ in opened.iterate()]
    assert dict(opened.v0()) == expanded(document)
    assert opened.count == len(listed) == len(set(listed))
    made = sum(len(item["dimensions"]["i"]) * len(item["dimensions"]["j"]) for item in items)
    remade = [each for each in findings if each.code == "gen-duplicate-key"]
    assert sum(each.count for each in remade) == made + len(keys) - opened.count


def test_many_items_over_many_references_are_compared_at_once() -> None:
    """One by one it would be 4 * 10^6 patterns and as many sums."""
    gen = [
        {
            "key": "x/{{i}}.{{j}}",
            "url": "http://h",
            "dimensions": {"i": [n, n + 400], "j": {"stop": 5}},
        }
        for n in range(400)
    ]
    explicit = {f"x/{n}.{n % 9}": ["http://other", n, 1] for n in range(10_000)}
    refs = rx.open_references({"version": 1, "gen": gen, "refs": explicit})
    remade = sum(n < 800 and n % 9 < 5 for n in range(10_000))
    assert len(refs) == 4000 + len(explicit) - remade
    assert not [each for each in refs.diagnostics if each.code == "gen-not-checked"]


def test_what_would_take_too_long_is_left_and_said() -> None:
    gen = [
        {
            "key": "x/{{i}}",
            "url": f"http://h{n}",
            "dimensions": {"i": {"start": n, "stop": 100 + n}},
        }
        for n in range(9)
    ]
    document = {"version": 1, "gen": gen, "refs": {"x/0": "explicit"}}
    opened, findings = opened_with(document, OverrideLimits(listed_keys=0, looks=250))
    left = [each for each in findings if each.code == "gen-not-checked"]
    assert [each.pointer for each in left] == ["/gen/2"]
    found = dict(opened.v0())
    assert (found["x/0"], found["x/1"]) == (["http://h0"], ["http://h1"])


@pytest.mark.parametrize("size", [200, 600])
def test_keys_that_cannot_be_inverted_are_what_writing_them_out_gives(size: int) -> None:
    dimensions = {"i": {"stop": size}, "j": {"stop": size}}
    gen = [{"key": "x/{{i * j}}", "url": "http://h/{{i}}/{{j}}", "dimensions": dimensions}]
    source = {"version": 1, "refs": {"x/6": "hidden", "x/z": "mine"}, "gen": gen}
    refs = rx.open_references(source)
    v0 = refs.to_v0()
    assert v0["x/6"] == refs["x/6"].to_v0() == ["http://h/6/1"]
    assert len(refs) == len(v0) == len({i * j for i in range(size) for j in range(i + 1)}) + 1
    assert "x/7" in refs
    assert f"x/{size * size}" not in refs
    assert refs["x/z"] == rx.types.Inline("mine")
    assert "gen-not-checked" not in [each.code for each in refs.diagnostics]


def test_no_more_keys_are_written_out_than_a_document_may() -> None:
    dimensions = {"i": {"stop": 800}, "j": {"stop": 800}}
    gen = [
        {"key": f"{name}/{{{{i * j}}}}", "url": "http://h", "dimensions": dimensions}
        for name in "xy"
    ]
    refs = rx.open_references({"version": 1, "gen": gen})
    assert [item.certain for item in internals(refs).generated] == [True, False]
    found = [each.pointer for each in refs.diagnostics if each.code == "gen-not-checked"]
    assert found == ["/gen/1"]
