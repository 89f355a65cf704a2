"""The pages for learners and teachers: rules of the specification, jinja2, your own exercises."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from refexplorer.spec.codes import RULES, SPECIFICATION
from refexplorer.views.exercises.exercise_models import (
    Exercise,
    ExerciseCheck,
    RecordFiles,
    Right,
    Wrong,
    exercises,
)
from refexplorer.views.text.positions import FILTER_HELP
from tests.cases.jinja import EXPRESSIONS, FILTERS, REFUSED, TESTS

EXAMPLE = """\
title = "Every second"
topic = "My course"
level = 1
task = "Write one item of `gen` that makes `x/0`, `x/2` and `x/4`, each a file such as `s3://b/0.nc`."
hints = ["A range may have a `step`."]
why = "The range is 0, 2, 4: it ends before `stop`."
rules = ["range"]
start = '{"version": 1, "gen": []}'
solution = '''
{
  "version": 1,
  "gen": [
    {"key": "x/{{i}}", "url": "s3://b/{{i}}.nc", "dimensions": {"i": {"stop": 5, "step": 2}}}
  ]
}
'''

[check]
items = 1
written = 0

[[wrong]]
text = '''
{"version": 1, "gen": [
  {"key": "x/{{i}}", "url": "s3://b/{{i}}.nc", "dimensions": {"i": {"stop": 5}}}
]}
'''
says = "not part of the solution"

[[right]]
text = '''
{"version": 1, "gen": [
  {"key": "x/{{i}}", "url": "s3://b/{{i}}.nc", "dimensions": {"i": [0, 2, 4]}}
]}
'''
note = "A list gives the same values."
"""
"""An exercise as a teacher may write it; a test opens it."""
V0, V1, PARQUET = "v0_by_hand", "v1_templates_and_gen", "parquet_references"
TITLES = {V0: "V0 by hand", V1: "V1: templates and gen", PARQUET: "References in parquet"}
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


def specification_page() -> str:
    """Return the rules of the specification, each with an example and what trains it."""
    lines = ["# The specification in short rules", ""]
    lines += [
        f"These are the rules of kerchunk's [reference specification]({SPECIFICATION}), in the "
        "order in which the notebooks teach them.",
        "",
    ]
    section = ""
    for name, rule in RULES.items():
        if rule.section != section:
            section = rule.section
            lines += [f"## {section}", "", f"[In the specification]({rule.link})", ""]
        trained = ", ".join(f"`{one.name}`" for one in exercises() if name in one.rules)
        lines += [f"### {name}", "", rule.sentence, ""]
        lines += ["```json", rule.example, "```", ""] if rule.example else []
        notebook = COVERAGE[name][0]
        lines += [
            f"Notebook: [{TITLES[notebook]}](../notebooks/{notebook}.ipynb). "
            f"[Exercises](../notebooks/exercises.ipynb): {trained}.",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def exercises_page() -> str:
    """Return how to write an exercise."""
    lines = ["# Write your own exercises", ""]
    lines += [
        "`rx.Exercises(folder)` shows the exercises in a folder: its `.toml` files, sorted by "
        "name. Each exercise is tested with its own answers first: the solution and all answers "
        "listed as `right` must pass; the start and all answers listed as `wrong` must fail, and "
        "the message must contain the words in `says`.",
        "",
        "An answer passes if it makes the same references as the solution, has no warnings that "
        "the solution does not have, and fulfils `check`. Up to 10,000 keys are all compared. For "
        "larger sets refexplorer compares the first and the last key, 400 keys in between, and the "
        "keys at and next to integers in the answer. Data are compared as bytes; JSON objects are "
        "compared by their content, not by how they are written.",
        "",
        "```toml",
        EXAMPLE.rstrip(),
        "```",
        "",
    ]
    for title, model in (
        ("Fields", Exercise), ("`[check]`", ExerciseCheck), ("`[check.records]`", RecordFiles),
        ("`[[wrong]]`", Wrong), ("`[[right]]`", Right),
    ):  # fmt: skip
        lines += [f"## {title}", "", "```text", inspect.getdoc(model) or "", "```", ""]
        names = [name for name in model.__struct_fields__ if (model, name) != (Exercise, "name")]
        lines += [", ".join(f"`{name}`" for name in names) + ".", ""]
    lines += ["## Rules", "", ", ".join(f"`{name}`" for name in RULES) + ": see "
              "[SPECIFICATION.md](SPECIFICATION.md).", ""]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def jinja_page() -> str:
    """Return which parts of jinja2 are supported, from the cases that test the engine."""
    lines = ["# Supported Jinja2", ""]
    lines += [
        "URLs in `refs` and the fields of a `gen` item are Jinja2 templates. refexplorer parses "
        "and evaluates the expressions below with limits, and never runs them as code. The tests "
        "compare each line with Jinja2. In the examples, `i` is a dimension with the value 7, and "
        "`u` is the template `s3://b`.",
        "",
    ]
    for title, cases in EXPRESSIONS.items():
        lines += [f"## {title}", "", *_table(("template", "result"), cases), ""]
    lines += ["## Filters", ""]
    rows = [(f"`{name}`", FILTER_HELP[name], *case) for name, case in FILTERS.items()]
    lines += [*_table(("filter", "effect", "template", "result"), rows, plain=2), ""]
    lines += ["## Tests", "", *_table(("template", "result"), TESTS.values()), ""]
    lines += [
        "## Not supported",
        "",
        "If a template uses anything else, refexplorer reports an error and does not use its "
        "references.",
        "",
    ]
    refused = [(case.template, case.says, case.instead) for case in REFUSED]
    lines += [*_table(("template", "message", "write instead"), refused, code=1), ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(
    head: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, plain: int = 0, code: int = 9
) -> list[str]:
    """Return a table; the first `plain` cells and those from `code` on are text, others code."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [
            cell if place < plain or place >= code else f"`{cell}`"
            for place, cell in enumerate(row)
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines
