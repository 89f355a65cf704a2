"""Commands that check several sets: failures, accepted findings, and the output format."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.files import write_blocks
from refexplorer.hosts.cli import output
from refexplorer.hosts.cli.program import STANDARD_INPUT, AsJson
from refexplorer.spec.codes import Severity

if TYPE_CHECKING:
    from refexplorer.checks.ci_formats import SetResult
    from refexplorer.checks.report import Report


class ReportForm(StrEnum):
    """The output format of reports."""

    text = "text"
    json = "json"
    github = "github"
    junit = "junit"
    sarif = "sarif"


def _options(
    source: Annotated[list[str], typer.Argument(metavar="SOURCE...")],
    fail_on: Severity = Severity.ERROR,
    accept: Annotated[list[str] | None, typer.Option(metavar="CODE[:ARRAY]")] = None,
    every: Annotated[bool, typer.Option("--all")] = False,
    page: Annotated[Path | None, typer.Option("--html")] = None,
    badge: Path | None = None,
    form: Annotated[ReportForm, typer.Option("--format")] = ReportForm.text,
    as_json: AsJson = False,
) -> None:
    """Declare the parameters of every command that checks sets."""


Workers = Annotated[int | None, typer.Option(min=1)]


def _run_options(
    workers: Workers = None,
    results: Path | None = None,
    resume: bool = False,
    only: str | None = None,
    within: str | None = None,
    against: Path | None = None,
) -> None:
    """Declare the parameters of a run, accepted by a command as ``**run``."""


def over_sets(verb: Callable[..., Report]) -> Callable[..., int]:
    """Return the command that checks each set, and prints the reports."""
    # A set that cannot be opened does not prevent the others from being checked.
    own, run, common = (
        dict(inspect.signature(each).parameters) for each in (verb, _run_options, _options)
    )
    own |= run if own.pop("run", None) is not None else {}
    names = verb.__globals__ | {"Report": object}  # which only a type checker imports
    hints = get_type_hints(verb, names, include_extras=True)
    for each in (_run_options, _options):
        hints |= get_type_hints(each, include_extras=True)

    @wraps(verb)
    def command(**arguments: Any) -> int:
        from refexplorer.checks.ci_formats import SetResult, joint_status
        from refexplorer.checks.terms import Waiver

        asked = {name: arguments.pop(name) for name in common}
        sources = asked["source"]
        form = ReportForm.json if asked["as_json"] else asked["form"]
        accept = asked["accept"] or []
        _check_call(sources, asked["page"], arguments.get("results"))
        if arguments.get("resume") and not arguments["results"]:
            raise typer.BadParameter("--resume requires --results.")
        try:
            for text in accept:
                Waiver.parse(text)
        except RefexplorerError as error:
            raise typer.BadParameter(str(error)) from None
        results = []
        for source in sources:
            try:
                report = verb(source, **arguments).judged(asked["fail_on"], accept)
                result = SetResult(source, verb.__name__, report)
            except RefexplorerError as error:
                output.say(f"refexplorer: {error}")
                result = SetResult(source, verb.__name__, error=str(error))
            results.append(result)
            if form is ReportForm.text and result.report is not None:
                output.write_text(result.report.to_text(asked["every"]))
        _write(results, form, asked["page"], asked["badge"])
        return joint_status(results)

    del command.__dict__["__wrapped__"]  # `declared` adds its own to what has none
    first, *rest = common.values()
    parameters = [first, *(each for each in own.values() if each.name != "source"), *rest]
    command.__dict__["__signature__"] = inspect.Signature(
        [each.replace(annotation=hints[each.name]) for each in parameters], return_annotation=int
    )
    command.__annotations__ = {each.name: hints[each.name] for each in parameters}
    return command


def _check_call(sources: list[str], page: Path | None, results: Path | None) -> None:
    if sources.count(STANDARD_INPUT) > 1:
        raise typer.BadParameter("Only one of the sets can come from standard input.")
    if len(sources) > 1 and (page or results):
        name = "--html" if page else "--results"
        raise typer.BadParameter(f"{name} takes one set; {len(sources)} were given.")


def _write(
    results: list[SetResult], form: ReportForm, page: Path | None, badge: Path | None
) -> None:
    """Print the machine-readable output, and write the files."""
    from refexplorer.checks.ci_formats import badge_svg, json_document, report_text

    report = results[0].report
    if page is not None and report is not None:
        with output.print_warnings():
            report.to_html(page)
    if badge is not None:
        write_blocks(badge, [badge_svg(results).encode()])
    if form is ReportForm.json:
        output.write_object(json_document(results).items())
    elif form is not ReportForm.text:
        text = report_text(results, form)
        output.write_document(text if form is ReportForm.sarif else output.options_text(text))
