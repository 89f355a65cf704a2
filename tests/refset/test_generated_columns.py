"""Columns of very many generated keys are what the keys are one by one."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import refexplorer as rx
from refexplorer.refset.generated import Generated, generated_tables
from refexplorer.refset.opened_set import internals
from refexplorer.spec.findings import Findings
from refexplorer.spec.gen.parsing import KeyCheckBudget, check_keys
from tests.helpers.expanding import expanded

FAILS_IN_THE_MIDDLE = "{{(i - MIDDLE) * (i - MIDDLE) - 9}}"
PATTERNS = [*product(["%d", "%02d", "%04d", "%5d"], ["{{i * i}}"]), ("%d", FAILS_IN_THE_MIDDLE)]


@pytest.mark.parametrize("start", [-3, 7, 998, 123_456])
@pytest.mark.parametrize(("pattern", "offset"), PATTERNS)
def test_columns_of_one_long_dimension(pattern: str, offset: str, start: int) -> None:
    item = {
        "key": f"é/{{{{'{pattern}' % i}}}}.0", "url": "s3://b/f_{{i // 2}}.nc",
        "length": "{{i * i}}", "offset": offset.replace("MIDDLE", str(start + 2500)),
        "dimensions": {"i": {"start": start, "stop": start + 5000}},
    }  # fmt: skip
    (made,) = internals(rx.open_references({"version": 1, "gen": [item]})).generated
    part = Generated(made)
    some = [*range(0, 5000, 9), *range(2490, 2510), *range(4090, 4100)]
    expected = {part.key_at(row): part.reference_at(row) for row in some}
    failing = list(expected.values()).count(None)
    assert failing == (5 if offset is FAILS_IN_THE_MIDDLE else 0)
    found = dict(entry for table in generated_tables(part) for entry in table.iterate())
    assert len(found) == 5000 - failing
    assert {key: found.get(key) for key in expected} == expected
    assert [key for run in part.runs() for key in run.keys] == list(found)


FAILING = {
    "key": "x/{{i}}", "url": "http://h", "offset": "{{ 100 // (i - 500) + 1000 }}", "length": "1",
    "dimensions": {"i": {"stop": 1000}},
}  # fmt: skip


def noted(refs: rx.ReferenceSet) -> list[rx.types.Finding]:
    """What is said of the templates: that the keys are chunks of no array is another matter."""
    return [each for each in refs.diagnostics if each.code != "orphan-chunk"]


def test_keys_that_fail_are_not_there_and_are_reported_of() -> None:
    refs = rx.open_references({"version": 1, "gen": [FAILING]})
    (note,) = noted(refs)
    assert (note.code, note.pointer, note.count) == ("bad-template", "/gen/0/offset", 1)
    assert "i=500" in note.message
    assert len(refs) == len(list(refs)) == len(refs.to_v0()) == 999
    assert "x/500" not in refs
    assert refs.get("x/500") is None
    with pytest.raises(KeyError, match=r"gen\[0\] generates this key, but its `offset` fails"):
        refs["x/500"]
    assert refs.number("x/501") == 500


def test_many_keys_that_fail_are_counted() -> None:
    item = {**FAILING, "offset": "{{ (i - 400) * (700 - i) * -1 + 20000 }}"}
    refs = rx.open_references({"version": 1, "gen": [item]})
    (note,) = noted(refs)
    assert (note.code, note.count) == ("bad-offset", 1000 - len(refs))
    assert len(refs) == sum((i - 400) * (700 - i) <= 20_000 for i in range(1000))


def test_an_explicit_key_stands_where_a_generated_one_fails() -> None:
    later = {"key": "x/{{i}}", "url": "http://l", "dimensions": {"i": [3, 500, 998]}}
    for gen in ([FAILING], [FAILING, later], [later, FAILING]):
        source = {"version": 1, "refs": {"x/500": "mine", "x/7": "hidden"}, "gen": gen}
        refs = rx.open_references(source)
        assert refs.to_v0() == expanded(source)
        assert {key: refs[key].to_v0() for key in refs} == expanded(source)
        assert [refs.number(key) for key in refs] == list(range(len(refs)))


def test_of_too_many_keys_to_try_those_that_fail_are_reported_of_later(tmp_path: Path) -> None:
    item = {**FAILING, "dimensions": {"i": {"stop": 150_000}}}
    refs = rx.open_references({"version": 1, "gen": [item]})
    assert [each.code for each in noted(refs)] == ["gen-not-checked", "readers-differ"]
    assert "x/500" not in refs
    assert "x/149999" in refs
    with pytest.raises(KeyError, match="fails"):
        refs["x/500"]
    with pytest.warns(rx.errors.LeftOutWarning, match=r"1 of the 150,000 keys of gen\[0\]"):
        refs.to_v0()
    with pytest.warns(rx.errors.LeftOutWarning, match=r"1 of the 150,000 keys of gen\[0\]"):
        refs.to_json(tmp_path / "refs.json")


def test_trying_keys_takes_no_more_steps_than_a_document_may() -> None:
    gen = [{**FAILING, "key": f"x/{n}/{{{{i}}}}"} for n in range(4)]
    refs = rx.open_references({"version": 1, "gen": gen})
    assert [each.code for each in noted(refs)] == ["bad-template"] * 4
    effort, findings = KeyCheckBudget(steps=25_000), Findings()
    for number, item in enumerate(internals(refs).generated):
        check_keys(item, effort, f"/gen/{number}", findings)
    found = [each.code for each in findings]
    assert found == sorted(found)
    assert set(found) == {"bad-template", "gen-not-checked"}
