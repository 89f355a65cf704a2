"""Gen items: counted, paged and inverted without being written out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.refset.opened_set import internals
from refexplorer.spec.document import read_gen
from refexplorer.spec.findings import Findings
from refexplorer.spec.gen.item import GenItem
from refexplorer.spec.templates.columns import Scopes
from refexplorer.spec.templates.syntax import TemplateProblem
from refexplorer.spec.templates.template import Scope, compile_template
from tests.helpers.expanding import expanded

HUGE = {"i": {"stop": 1_000_000}, "j": {"stop": 1_000_000}}


def item(key: str, dimensions: dict[str, Any], url: str = "http://h") -> GenItem:
    findings = Findings()
    source = [{"key": key, "url": url, "dimensions": dimensions}]
    (found,) = read_gen(source, {}, rx.Limits(), findings)
    return found


INVERTIBLE = [
    "x/{{i}}.{{j}}",
    "x/{{i * 24 + j}}",
    "{{ '%03d' % i }}-{{ j }}",
    "{{ '%05d' | format(i) }}/{{ j }}",
    "{{ i // 5 }}.{{ i % 5 }}/{{ j }}",
    "{{ i // 20 }}/{{ i // 5 % 4 }}/{{ i % 5 }}_{{ j }}",
    "{{ -i }}.{{ j - 2 }}",
    "{{ j + 100 - i * 7 }}",
    "{{ 3 * (i + 2 * 30 * j) }}",
]


@pytest.mark.parametrize("key", INVERTIBLE)
def test_a_key_is_found_by_arithmetic(key: str) -> None:
    made = item(key, {"i": {"stop": 60}, "j": {"stop": 3}})
    keys = [made.key_at(number) for number in range(made.count)]
    assert made.inverter is not None
    assert made.count == len(set(keys)) == 180
    assert [made.find(found) for found in keys] == list(range(180))
    assert made.find("nothing") is None
    longer = keys[0] + "0"
    assert made.find(longer) == (keys.index(longer) if longer in keys else None)


@pytest.mark.parametrize(
    ("key", "count"),
    [("{{ i + j }}", 62), ("{{ i }}{{ j }}", 180), ("{{ i * 2 + j }}", 121), ("{{ i }}", 60)],
)
def test_equal_keys_count_once_and_the_last_one_wins(key: str, count: int) -> None:
    made = item(key, {"i": {"stop": 60}, "j": {"stop": 3}}, url="http://h/{{i}}/{{j}}")
    expected = {}
    for i in range(60):
        for j in range(3):
            expected[made.rendered("key", {"i": i, "j": j})] = f"http://h/{i}/{j}"
    assert made.count == count
    numbers = range(made.count)
    assert {made.key_at(n): made.reference_at(n).to_v0() for n in numbers} == {
        key: [url] for key, url in expected.items()
    }


def test_a_trillion_keys_are_counted_paged_and_found() -> None:
    made = item("x/{{i}}.{{j}}", HUGE)
    assert made.count == 10**12
    assert made.key_at(123_456_789_012) == "x/123456.789012"
    assert made.find("x/123456.789012") == 123_456_789_012
    assert made.find("x/1000000.0") is None
    assert made.find("x/01.0") is None


LETTERS = "abcdefghijklmnopqrst"


@pytest.mark.parametrize(
    ("key", "dimensions", "last"),
    [
        (
            "x/{{i}}.{{j}}",
            {"i": {"stop": 10**10}, "j": {"stop": 10**10}},
            "x/9999999999.9999999999",
        ),
        ("x/{{i}}", {"i": {"stop": 2**63}}, f"x/{2**63 - 1}"),
        ("x/{{i}}", {"i": {"start": 1 - 2**63, "stop": 2**63}}, f"x/{2**63 - 1}"),
        (
            "x/" + ".".join(f"{{{{{letter}}}}}" for letter in LETTERS),
            {letter: {"stop": 10} for letter in LETTERS},
            "x/" + ".".join("9" * 20),
        ),
    ],
)
def test_more_keys_than_64_bits_can_number_are_exact(
    key: str, dimensions: dict[str, Any], last: str
) -> None:
    made = {"key": key, "url": "http://h", "dimensions": dimensions}
    later = {"key": "{{['" + last + "'][i]}}", "url": "http://l", "dimensions": {"i": [0]}}
    refs = rx.open_references({"version": 1, "gen": [made], "refs": {"y": "explicit"}})
    assert refs.keys_at(refs.count - 1, refs.count) == [last]
    assert internals(refs).entries_at(refs.count - 3000, refs.count)[-1][0] == last
    assert refs.number(last) == refs.position(last) + 1 == refs.count - 1
    assert refs.children("x", refs.count - 2).rows[0].path == last
    assert "combination" in str(refs.explain(last))
    with pytest.raises(rx.errors.LimitError):
        rx.expand({"version": 1, "gen": [made]})
    over = rx.open_references({"version": 1, "gen": [made, later]})
    assert over.count == refs.count - 1
    assert over[last] == rx.types.Url("http://l")
    assert last not in over.keys_at(over.count - 5000, over.count - 1)


def test_an_empty_dimension_beside_a_huge_one_makes_nothing_at_once() -> None:
    assert item("x", {"i": {"stop": 10**9}, "j": []}).count == 0
    assert item("x{{i}}", {"i": {"start": 10**30, "stop": 10**30 + 5}}).count == 5


@given(
    st.lists(
        st.one_of(
            st.builds(
                lambda start, size, step: {"start": start, "stop": start + size, "step": step},
                st.integers(-5, 5),
                st.integers(0, 7),
                st.sampled_from([1, 2, 3]),
            ),
            st.lists(st.integers(-4, 9), max_size=4),
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(
        ["{{a}}.{{b}}/{{c}}", "{{a*40+b*8+c}}", "{{a+b}}_{{c}}", "k{{c}}", "{{a}}{{b}}"]
    ),
)
def test_lookup_agrees_with_writing_out(values: list[Any], key: str) -> None:
    dimensions = dict(zip("abc", [*values, [0], [0]], strict=False))
    document = {
        "version": 1,
        "gen": [{"key": key, "url": "u{{a}},{{b}},{{c}}", "dimensions": dimensions}],
    }
    v0 = expanded(document)
    refs = rx.open_references(document)
    assert refs.to_v0() == v0
    assert all(refs[name].to_v0() == value for name, value in v0.items())
    assert refs.children("").total == len(v0)


def test_a_key_with_a_template_beside_a_dimension_is_found() -> None:
    document = {
        "version": 1,
        "templates": {"u": "north"},
        "gen": [{"key": "x/{{ u ~ i }}", "url": "f", "dimensions": {"i": {"stop": 30}}}],
    }
    refs = rx.open_references(document)
    assert refs.number("x/north29") == 29
    assert [refs.number(key) for key in refs] == list(range(30))


def test_a_key_that_fails_late_is_left_out_and_all_others_are_found() -> None:
    listed = [str(number) for number in range(300)]
    values = [*range(299), 305, 299]
    item_ = {"key": f"x/{{{{ {listed}[i] }}}}", "url": "f", "dimensions": {"i": values}}
    refs = rx.open_references({"version": 1, "gen": [item_]})
    assert list(refs) == [f"x/{number}" for number in range(300)]
    assert refs.number("x/299") == 299


def test_listed_numbers_are_taken_together_and_within_the_limits() -> None:
    listed = [number * 7 % 100 for number in range(100)]
    template = compile_template(f"{{{{ {listed}[i // 3] }}}}")
    places = {"i": np.arange(300)}
    taken = Scopes(places, {}, rx.Limits()).integers(template)
    assert taken is not None
    assert taken.tolist() == [listed[place // 3] for place in range(300)]
    tight = rx.Limits(template_chars=300)
    assert Scopes(places, {}, tight).integers(template) is None
    with pytest.raises(TemplateProblem, match="300 characters"):
        template.render(Scope({"i": 0}, {}, tight))


HALF = "{{'%c' | format(i)}}"


@pytest.mark.parametrize(
    ("fields", "code", "at"),
    [
        ({"key": "\ud800{{i}}"}, "bad-text", "/gen/0/key"),
        ({"key": HALF}, "bad-text", "/gen/0/key"),
        ({"url": "http://\ud800"}, "bad-url", "/gen/0/url"),
        ({"url": "http://h/" + HALF}, "bad-url", "/gen/0/url"),
        ({"offset": "9" * 5000, "length": "1"}, "gen-bad-int", "/gen/0/offset"),
        ({"offset": "1", "length": "-" + "9" * 5000}, "gen-bad-int", "/gen/0/length"),
    ],
)
def test_what_no_file_can_hold_is_refused(fields: dict[str, str], code: str, at: str) -> None:
    made = {"key": "x/{{i}}", "url": "http://h", "dimensions": {"i": [0xD800, 7]}, **fields}
    source = {"version": 1, "gen": [made], "refs": {"a": "explicit"}}
    refs = rx.open_references(source)
    assert [(each.code, each.pointer) for each in refs.diagnostics] == [(code, at)]
    assert refs.to_v0() == expanded(source) == {"a": "explicit"}


@pytest.mark.parametrize("field", ["key", "url"])
def test_half_a_surrogate_pair_that_comes_late_is_left_out(field: str, tmp_path: Path) -> None:
    values = [*range(1000, 5000), 0xD800, 7]
    made = {"key": "x/{{i}}", "url": "http://h", "dimensions": {"i": values}}
    made |= {field: "x/{{i}}" + HALF}
    refs = rx.open_references({"version": 1, "gen": [made]})
    refs.to_json(tmp_path / "refs.json")
    assert len(json.loads((tmp_path / "refs.json").read_text())) == 4001
    assert len(list(refs)) == 4001
