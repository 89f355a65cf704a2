"""Keys inverted by arithmetic are what enumerating all combinations tells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.refset.opened_set import internals
from tests.helpers.expanding import expanded

PARTS = st.sampled_from(
    [
        *("a", "-", "1", "x/", ".", "{{sep}}", "{{i}}", "{{j}}", "{{-i}}", "{{i * 3 + j}}"),
        *("{{i % 3}}", "{{i % 2}}", "{{i // 3}}", "{{i // 2 % 2}}", "{{'%02d' % j}}"),
        *("{{'v' ~ i}}", "{{['b', 'ba', '', '1'][j % 4]}}", "{{2 * (j // 2)}}", "{{j - i}}"),
    ]
)
VALUES = st.one_of(
    st.lists(st.integers(-2, 7), min_size=1, max_size=5),
    st.builds(
        lambda start, size, step: {"start": start, "stop": start + size * step, "step": step},
        st.integers(-3, 4),
        st.integers(1, 9),
        st.sampled_from([1, 2, 3, -1, -2]),
    ),
)


def document(key: str, dimensions: dict[str, Any], sep: str = "a") -> dict[str, Any]:
    item = {"key": key, "url": "http://h/{{i}}/{{j}}", "dimensions": dimensions}
    refs = {"0": "explicit", "a-1": "explicit"}
    return {"version": 1, "templates": {"sep": sep}, "gen": [item], "refs": refs}


@seed(1)
@given(st.lists(PARTS, max_size=7).map("".join), VALUES, VALUES, st.sampled_from(["a", "", "-1"]))
def test_keys_found_by_arithmetic_equal_listed_keys(
    key: str, first: Any, second: Any, sep: str
) -> None:
    source = document(key, {"i": first, "j": second}, sep)
    refs, expected = rx.open_references(source), expanded(source)
    assert {key: refs[key].to_v0() for key in refs} == expected
    assert [refs.number(key) for key in refs] == list(range(len(refs)))
    for key in expected:
        for other in (key + "1", key[:-1], "-" + key, key.replace("a", "b", 1)):
            assert (other in refs) == (other in expected)


def test_parts_of_one_dimension_with_equal_divisors_are_put_together() -> None:
    key = "x/{{k % 3}}.{{k % 2}}.{{k // 3}}"
    item = {"key": key, "url": "http://h/{{k}}", "dimensions": {"k": {"stop": 60}}}
    refs = rx.open_references({"version": 1, "gen": [item]})
    assert internals(refs).generated[0].inverter is not None
    assert [key for key in refs if key not in refs] == []


def test_parts_of_a_negative_dimension_are_found() -> None:
    """The remainder is two digits long, the value one."""
    key, dimension = "x/{{k % 24}}.{{k // 24}}", {"start": -6, "stop": 2}
    item = {"key": key, "url": "http://h/{{k}}", "dimensions": {"k": dimension}}
    source = {"version": 1, "gen": [item]}
    refs, expected = rx.open_references(source), expanded(source)
    assert {key: refs[key].to_v0() for key in refs} == expected
    assert len(expected) == 8


def test_text_from_a_template_counts_as_literal() -> None:
    key = "{{['b', 'ba'][i]}}{{sep}}{{['c', 'ac'][j]}}"
    refs = rx.open_references(document(key, {"i": [0, 1], "j": [0, 1]}))
    assert internals(refs).generated[0].inverter is None
    assert internals(refs).generated[0].count == 3
    assert refs["baac"].to_v0() == refs.to_v0()["baac"] == ["http://h/1/0"]


NAMES = "abcdefg"
LISTED = "/".join(f"{{{{'v' ~ {name}}}}}" for name in NAMES) + "/z"
DIGITS = "".join(f"{{{{{name}}}}}{'1' * 200}/" for name in NAMES)


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        (LISTED, "/" * 100_000 + "!"),
        (LISTED, "v1/" * 30_000 + "!"),
        (LISTED, "v" * 100_000),
        (DIGITS, "1" * 100_000 + "/"),
        (DIGITS, ("1" * 203 + "/") * 500),
        (DIGITS, "-" * 100_000),
    ],
)
def test_no_key_takes_long_to_read(key: str, asked: str) -> None:
    """With backtracking it would be powers of the length."""
    dimensions = {name: {"stop": 300} for name in NAMES}
    item = {"key": key, "url": "http://h", "dimensions": dimensions}
    document = {"version": 1, "gen": [item], "refs": {asked: "explicit"}}
    refs = rx.open_references(document, limits=rx.Limits(key_bytes=len(asked)))
    assert internals(refs).generated[0].inverter is not None
    assert internals(refs).generated[0].find(asked) is None
    assert refs.count == 300**7 + 1


def test_a_number_too_long_for_python_to_read_is_no_key() -> None:
    item = {"key": "x/{{i}}", "url": "http://h", "dimensions": {"i": [1]}}
    asked = "x/" + "1" * 5000
    refs = rx.open_references({"version": 1, "gen": [item], "refs": {asked: "explicit"}})
    assert refs[asked] == rx.types.Inline("explicit")
    assert asked + "1" not in refs
