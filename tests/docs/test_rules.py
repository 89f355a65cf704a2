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

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
V0, V1, PARQUET = "v0_by_hand", "v1_templates_and_gen", "parquet_references"
COVERAGE: dict[str, tuple[str, str, str]] = {
    "v0": (
        V0,
        "one JSON object that maps each key to its reference",
        "v0-spec-example v0-not-object not-object",
    ),
    "byte-range": (
        V0,
        "## Kind 1: byte range",
        "v0-spec-example v0-range-zero-length bad-offset bad-length",
    ),
    "text": (V0, "A string is the data of its key", "v0-text v0-empty-string"),
    "json-object": (
        V0,
        "You can also write a JSON object",
        "v0-object v0-object-equals-string",
    ),
    "base64": (V0, "after the prefix `base64:`", "v1-base64 v0-base64-bad-chars bad-base64"),
    "ascii": (V0, "All other strings must be ASCII", "v0-nonascii non-ascii-inline"),
    "whole-url": (V0, "`[url]` is the whole file", "v0-null-url-whole v1-spec-example"),
    "list-shape": (V0, "one element or three", "v0-list-4 bad-ref-shape"),
    "version": (
        V1,
        '`"version": 1`, a number',
        "v1-version-true v0-key-templates bad-version version-missing",
    ),
    "refs": (V1, "a V0 set in `refs`", "v1-spec-example v1-refs-object v1-stray-keys"),
    "jinja": (V1, "is a Jinja2 expression", "t-filter t-concat t-call-expr bad-template"),
    "expand": (V1, "In Python use `expand`", "v1-spec-example"),
    "templates": (V1, "`{{u}}` inserts it", "v1-spec-example t-two t-undefined undefined-name"),
    "arguments": (V1, "passes it by name", "t-call-int t-positional t-missing-arg unused-argument"),
    "scope": (V1, "sees only the arguments of its call", "t-sees-other g-template-sees-dim"),
    "gen": (V1, "A gen item makes one key", "g-key-missing g-literal gen-missing-field"),
    "dimensions": (
        V1,
        "combination of its `dimensions`",
        "g-dims-empty g-dim-int gen-bad-dimension",
    ),
    "gen-names": (V1, "see the dimensions and", "g-template g-template-call"),
    "gen-range": (
        V1,
        "Use both, or neither",
        "g-offset-missing g-offset-int gen-offset-length-pair",
    ),
    "range": (V1, "which ends before `stop`", "g-step g-stop-missing g-stop-zero"),
    "range-defaults": (V1, "`start` defaults to 0", "v1-spec-example g-stop-missing"),
    "values": (V1, "can also be a list of values", "g-list g-list-equals-range g-list-strings"),
    "product": (V1, "the last one runs fastest", "g-unused-dim"),
    "parquet-layout": (
        PARQUET,
        "*record files* for each array",
        "p-record-files p-file-without-array",
    ),
    "zmetadata": (
        PARQUET,
        "the record size and the metadata of all arrays",
        "p-metadata-strings p-record-size-zero",
    ),
    "small-arrays": (PARQUET, "lets it contain the data of small arrays", "test_data_in_zmetadata"),
    "c-order": (PARQUET, "Chunks are counted in C order", "p-record-files p-edge-chunks"),
    "record-size": (
        PARQUET,
        "The default is 10,000",
        "p-record-files p-record-size-zero",
    ),
    "raw": (
        PARQUET,
        "If `raw` contains bytes, they are the data",
        "p-raw-and-path parquet-raw-and-path",
    ),
    "row": (
        PARQUET,
        "| a URL | above 0 | null | a byte range |",
        "p-offset-size-zero parquet-bad-columns",
    ),
    "null-row": (PARQUET, "| null | | null | missing |", "p-padding p-missing-file"),
    "padding": (
        PARQUET,
        "padded with rows in which both are null",
        "p-padding p-padding-filled p-unpadded",
    ),
}
"""Rule → the notebook that teaches it, its words there, and the cases and codes that test it."""


def lessons(name: str) -> str:
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    texts = (
        "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"
    )
    return "\n\n".join(texts)


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
