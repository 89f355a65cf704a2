"""Every rule of the specification is taught once, in order, and is exercised and checked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import refexplorer as rx
from refexplorer import demo
from refexplorer.spec.codes import CODES, RULES, SPECIFICATION, SpecRule
from refexplorer.views.exercises.exercise_models import exercises
from tests.cases import conformance
from tests.docs.teaching import COVERAGE, PARQUET, V0, V1

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def lessons(name: str) -> str:
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    texts = (
        "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"
    )
    return " ".join(" ".join(texts).split())  # words may be on two lines


def test_every_rule_is_covered_in_the_order_of_the_rules() -> None:
    assert list(COVERAGE) == list(RULES)


@pytest.mark.parametrize("name", COVERAGE)
def test_a_rule_is_taught_once_exercised_and_checked(name: str) -> None:
    notebook, words, held = COVERAGE[name]
    assert lessons(notebook).count(words) == 1
    assert any(name in one.rules for one in exercises())
    known = {str(case) for case in conformance()} | CODES.keys() | globals().keys()
    assert held
    assert set(held.split()) <= known


@pytest.mark.parametrize("notebook", [V0, V1, PARQUET])
def test_rules_are_taught_in_order_and_the_specification_is_linked(notebook: str) -> None:
    text = lessons(notebook)
    places = [text.index(words) for name, (of, words, _) in COVERAGE.items() if of == notebook]
    assert places == sorted(places)
    assert f"({SPECIFICATION}#" in text


def test_notebooks_link_to_sections_that_rules_have() -> None:
    links = {rule.link for rule in RULES.values()}
    for path in NOTEBOOKS.glob("*.ipynb"):
        used = re.findall(
            rf"{re.escape(SPECIFICATION)}#[a-z0-9-]+", path.read_text(encoding="utf-8")
        )
        assert set(used) <= links


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.example])
def test_the_example_of_a_rule_follows_it(rule: SpecRule) -> None:
    refs = rx.open_references(rule.example)
    assert len(refs) > 0
    assert not refs.error_count


@pytest.mark.parametrize("name", ["spec.v0.json", "spec.v1.json"])
def test_the_examples_of_the_specification_are_shipped(name: str) -> None:
    refs = rx.open_references(demo.path(name))
    assert not [found for found in refs.diagnostics if found.severity != "info"]


def test_data_in_zmetadata(tmp_path: Path) -> None:
    """Data of a small array that lie in ``.zmetadata`` are those of the key."""
    array = {
        "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|u1", "compressor": None,
        "filters": None, "fill_value": None, "order": "C",
    }  # fmt: skip
    metadata = {".zgroup": {"zarr_format": 2}, "v/.zarray": array, "v/0": "ab"}
    store = tmp_path / "store.parq"
    store.mkdir()
    (store / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 10}))
    assert rx.open_references(store)["v/0"] == rx.types.Inline("ab")
