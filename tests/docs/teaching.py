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
        lines += [f"Exercises: {trained}.", ""]
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
        "A template that uses anything else has a diagnostic, and its references are not used.",
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
