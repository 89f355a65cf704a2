"""The pages for learners and teachers: rules of the specification, jinja2, one's own exercises."""

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
    lines = ["# The specification in our words", ""]
    lines += [
        f"The [reference specification]({SPECIFICATION}) is kerchunk's. These are its rules, in "
        "the order in which the notebooks teach them.",
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
        "`rx.Exercises(folder)` shows the exercises of a folder: its `.toml` files, in the order "
        "of their names. Each is judged by its own answers before it is shown: the solution and "
        "all that is listed as `right` must pass, the start and all that is listed as `wrong` "
        "must fail, and be met with the words that are named.",
        "",
        "An answer passes if it makes the references of the solution, warns of nothing that the "
        "solution does not warn of, and holds to `check`. Up to 10,000 keys are compared one by "
        "one; of more, the first, the last, 400 others from everywhere, and those at and beside "
        "integers that the answer names. Data are compared by their bytes and JSON objects by "
        "what they say, whichever way they are written.",
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
    """Return what is read of jinja2, from the cases that the engine is held to."""
    lines = ["# The jinja2 that is read", ""]
    lines += [
        "A URL of `refs` and the fields of a `gen` item are templates of jinja2. What is listed "
        "here is parsed and computed under limits, never run as code; each line is compared with "
        "jinja2 itself by the tests. The templates see `i` = 7, a dimension, and `u` = `s3://b`, a "
        "template.",
        "",
    ]
    for title, cases in EXPRESSIONS.items():
        lines += [f"## {title}", "", *_table(("template", "gives"), cases), ""]
    lines += ["## Filters", ""]
    rows = [(f"`{name}`", FILTER_HELP[name], *case) for name, case in FILTERS.items()]
    lines += [*_table(("", "what it does", "template", "gives"), rows, plain=2), ""]
    lines += ["## Tests", "", *_table(("template", "gives"), TESTS.values()), ""]
    lines += [
        "## What is refused",
        "",
        "A template that uses anything else is a diagnostic, and its references are left out.",
        "",
    ]
    refused = [(case.template, case.says, case.instead) for case in REFUSED]
    lines += [*_table(("template", "is said", "write instead"), refused, code=1), ""]
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
