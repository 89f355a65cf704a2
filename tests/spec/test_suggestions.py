"""What was meant by an unknown name is looked for only where it is told."""

from __future__ import annotations

import difflib

import pytest

import refexplorer as rx


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many names each search for a near one went through."""
    counts: list[int] = []
    search = difflib.get_close_matches

    def counted(name: str, known: list[str], n: int) -> list[str]:
        counts.append(len(known))
        return search(name, known, n)

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    return counts


def test_unknown_names_of_many_references_are_compared_for_the_findings_shown(
    compared: list[int],
) -> None:
    document = {
        "version": 1,
        "templates": {f"name_{n}": "v" for n in range(500, 900)},
        "refs": {f"a{n}": [f"http://{{{{name_{n}}}}}"] for n in range(200)},
    }
    found = rx.open_references(document).diagnostics
    assert found[0].hint.startswith("Did you mean `name_")
    assert sum(one.count for one in found if one.code == "undefined-name") == 200
    assert len(compared) <= 20
    assert max(compared) <= 100


def test_an_unknown_name_that_has_a_default_is_not_compared(compared: list[int]) -> None:
    document = {
        "version": 1,
        "templates": {"host": "h"},
        "refs": {"a": ["{{ hots | default('d') }}{{ 'e' if hots is defined else 'f' }}"]},
    }
    assert rx.expand(document).v0 == {"a": ["df"]}
    assert not compared


def test_a_long_name_is_not_compared(compared: list[int]) -> None:
    document = {"version": 1, "templates": {"a" * 9000: "v"}, "refs": {"a": ["{{hots}}"]}}
    assert rx.expand(document).diagnostics
    assert compared == [0]
