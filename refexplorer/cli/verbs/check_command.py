"""``check``: what is wrong or odd in a set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.program import (
    HAS_ERRORS,
    NOT_CHECKED,
    AsJson,
    SourceArgument,
    app,
    open_set,
    severities,
)
from refexplorer.markup import counted
from refexplorer.referenceset import ReferenceSet
from refexplorer.spec.codes import Severity
from refexplorer.spec.diagnostics import Diagnostic, grouped

if TYPE_CHECKING:
    from refexplorer.checks.render.check_results import TargetChecks

FIRST_OF_A_GROUP = 3


@app.command()
def check(
    source: SourceArgument,
    targets: Annotated[
        bool,
        typer.Option("--targets", help="Request size and version of each target; no data is read."),
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Allow a place to be accessed: a folder, s3://bucket, a host."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="File for the answers; the next run says which targets changed."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="List each finding, where many are alike.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write the report to an HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List what is wrong or odd, with the place and what to do.

    Of many findings of one kind the first are listed. Targets are not asked without --targets,
    and not read with it; `refexplorer audit` decodes. Exit status 2 if some may not be asked yet.
    """
    if (allow or resume) and not targets:
        raise typer.BadParameter("--allow and --resume require --targets.")
    refs = open_set(source)
    if targets:
        from refexplorer.cli.target_check import check_targets

        checks = check_targets(refs, allow or [], resume, as_json)
        _write_check_page(page, refs, checks)
        if checks.good:
            return 0
        return HAS_ERRORS if checks.has_errors else NOT_CHECKED
    _write_check_page(page, refs, None)
    counts = severities(refs)
    if as_json:
        fields = {"source": refs.source.name, "form": refs.source.form, "keys": refs.count}
        written = (diagnostic.to_dict() for diagnostic in refs.diagnostics)
        output.write_json(fields | counts, "diagnostics", written)
        return HAS_ERRORS if counts["error"] else 0
    for line in _diagnostic_lines(refs.diagnostics, every):
        output.write_line(line)
    found = ", ".join(f"{count:,} of severity {name}" for name, count in counts.items() if count)
    code = next((one.code for one in refs.diagnostics if one.severity is not Severity.INFO), None)
    explained = f" `refexplorer explain-code {code}` tells more of the first." if code else ""
    keys = counted(refs.count, "key")
    output.say(
        f"{refs.source.name}: {keys}; {found or 'no diagnostics'}. The targets "
        f"were not checked (use --targets) and no data was read.{explained}"
    )
    return HAS_ERRORS if counts["error"] else 0


def _write_check_page(path: Path | None, refs: ReferenceSet, checks: TargetChecks | None) -> None:
    if path is not None:
        from refexplorer.cli.check_page import write_check_page

        with output.saying_warnings():
            write_check_page(path, refs, checks)


def _diagnostic_lines(diagnostics: tuple[Diagnostic, ...], every: bool) -> Iterator[str]:
    """Yield what is said of the diagnostics; of many of one code the first, unless `every`."""
    for group in grouped(diagnostics):
        if every or not group.is_long:
            yield from map(str, group.diagnostics)
            continue
        yield group.title
        for diagnostic in group.diagnostics[:FIRST_OF_A_GROUP]:
            yield f"    {diagnostic.place}: {diagnostic.sentence}"
        left = len(group.diagnostics) - FIRST_OF_A_GROUP
        yield f"    and {left:,} more (`--all` lists them)"
