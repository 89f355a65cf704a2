"""Commands that check sets, ``check``, ``audit``, ``verify``, and ``lock`` and ``repair``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.files import write_blocks
from refexplorer.core.text import counted
from refexplorer.hosts.cli import output
from refexplorer.hosts.cli.program import (
    STANDARD_INPUT,
    AsJson,
    Output,
    OutputOrNone,
    Texts,
    app,
    open_set,
)
from refexplorer.hosts.cli.verbs.making import FormText, pairs
from refexplorer.spec.codes import Severity

if TYPE_CHECKING:
    from refexplorer.checks.ci_formats import SetResult
    from refexplorer.checks.engine import AuditProgress, AuditWatch
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
    names = {**globals(), "Report": object}  # `Report` is only imported for type checking
    own, run, common = (
        dict(inspect.signature(each, globals=names, eval_str=True).parameters)
        for each in (verb, _run_options, _options)
    )
    own |= run if own.pop("run", None) is not None else {}

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
    command.__dict__["__signature__"] = inspect.Signature(parameters, return_annotation=int)
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
        sys.stdout.write(text if form is ReportForm.sarif else output.options_text(text))


@contextmanager
def watching(doing: str, results: Path | None) -> Iterator[AuditWatch]:
    """Yield the progress display of a run; if it is interrupted, report what was kept."""
    try:
        with output.counting("Listing references") as count:

            def watch(progress: AuditProgress) -> bool:
                if progress.total is None:
                    count(progress.listed, None)
                else:
                    count(progress.audited, progress.total, doing)
                return True

            yield watch
    except KeyboardInterrupt:
        if results is not None:
            output.say(f"Stopped. Finished parts are kept in {results}; continue with --resume.")
        raise


@app.command()
@over_sets
def check(
    source: str,
    targets: bool = False,
    allow: Texts = None,
    expect: Path | None = None,
    **run: Any,
) -> Report:
    """List the problems of the set, and how to fix them.

    Of many similar findings, only the first are listed. Inline coordinates are checked for
    gaps, duplicates, order and missing values; with --allow, so are coordinates in files (with
    --targets, only for --expect). No file is opened without --targets or --against; use
    `refexplorer audit` to decode chunks. Exit status 2 if some files are not allowed yet.
    """
    asked = [name for name, value in run.items() if value]
    targets = targets or run["against"] is not None
    if asked and not targets:
        need = "requires" if len(asked) == 1 else "require"
        raise typer.BadParameter(f"--{', --'.join(asked)} {need} --targets.")
    refs = open_set(source).allowing(*allow or ())
    if not targets:
        return refs.check(read_coordinates=bool(allow), expect=expect)
    is_read = bool(allow) and expect is not None
    with watching("Asking targets", run["results"]) as watch:
        return refs.check_targets(watch=watch, read_coordinates=is_read, expect=expect, **run)


@app.command()
@over_sets
def audit(source: str, allow: Texts = None, decode: str = "sample", **run: Any) -> Report:
    """Check that all files exist, are long enough, and decode. Exit status 1 if one does not.

    Values and metadata are not compared with the files: see `refexplorer verify`. Exit status 2
    if nothing is wrong so far, but some files are not allowed yet.
    """
    refs = open_set(source).allowing(*allow or ())
    with watching("Auditing", run["results"]) as watch:
        return refs.audit(decode=decode, watch=watch, **run)


class ValuesCompared(StrEnum):
    """How many chunks of each array are compared by value."""

    none = "none"
    sample = "sample"
    all = "all"


@app.command()
@over_sets
def verify(
    source: str, allow: Texts = None, values: ValuesCompared = ValuesCompared.none, **run: Any
) -> Report:
    """Compare the set with the files' own metadata. Exit status 1 if they differ.

    Reads the metadata of each file with the library of its format, and compares the position and
    length of chunks, data types, filters, packing, units, dimensions and coordinates. Lists what is
    in the files but not in the set. Exit status 2 if something could not be compared. A set without
    file references passes.
    """
    refs = open_set(source).allowing(*allow or ())
    with watching("Verifying", run["results"]) as watch:
        return refs.verify(values=values.value, watch=watch, **run)


@app.command()
def lock(
    source: str,
    target: Output,
    checksums: str = "none",
    allow: Texts = None,
    workers: Workers = None,
    only: str | None = None,
    overwrite: bool = False,
    as_json: AsJson = False,
) -> int:
    """Record the versions of all files, to compare with later.

    The lock records the size, ETag and time of each file, the shape of each array
    and the ends of each axis.
    `refexplorer check SET --against FILE` then lists what changed, disappeared or came back. With
    --only, the lock keeps earlier results for the other files, with their times. The exit status is
    that of `check --targets`; the lock is written in any case.
    """
    from refexplorer.checks.locks import Lock

    refs = open_set(source).allowing(*allow or ())
    with watching("Asking targets", None) as watch:
        how: dict[str, Any] = {"overwrite": overwrite, "workers": workers, "only": only}
        report = refs.lock(target, checksums=checksums, watch=watch, **how)
    if as_json:
        output.write_object((report.to_dict() | {"output": str(target)}).items())
    else:
        output.write_text(report.to_text())
        output.write_line(f"{target}: {Lock.read(target).text()}")
    return report.status


@app.command()
def repair(
    source: str,
    target: OutputOrNone = None,
    dry_run: bool = False,
    form: FormText = None,
    rename: Texts = None,
    values: ValuesCompared = ValuesCompared.none,
    allow: Texts = None,
    overwrite: bool = False,
    as_json: AsJson = False,
) -> int:
    """Write a repaired set, made from the metadata of its files.

    References that are stale, shifted or point to the wrong array are replaced if a file states
    where the chunk is; metadata are replaced if all files agree. A change that would make a chunk
    worse is skipped, and the reason is reported. The differences are shown first; the repaired set
    is verified before it is written, and again before it is renamed to its final name. What cannot
    be repaired is listed and left unchanged. The exit status is that of `verify` for the repaired
    set: 1 if it still differs from its files, 2 if something is unknown.
    """
    from refexplorer.verbs.converting import Conversion, check_output
    from refexplorer.verbs.repair.repairing import repair as repair_set

    if (target is None) != dry_run:
        raise typer.BadParameter("Pass either --output or --dry-run.")
    refs = open_set(source)
    if target is not None:
        check_output(refs, target, None, Conversion(form=form, overwrite=overwrite))
    with watching("Verifying", None) as watch:
        renames = pairs(rename, "--rename")
        found = repair_set(
            refs, renames=renames, values=values.value, allow=allow or [], watch=watch
        )
    if not as_json:
        output.write_text(found)
    writable = target is not None and found.can_be_written
    if target is not None and writable:
        with output.print_warnings():
            count = found.write(
                target,
                form=form,
                overwrite=overwrite,
                watch=output.progress,
                watch_verifying=lambda: watching("Verifying the output", None),
            )
        if not as_json:
            keys = counted(count, "key")
            output.write_line(f"{target}: {keys}, read back, the same and verified once more.")
    elif target is not None:
        output.say(f"{target}: not written, since nothing could be repaired.")
    if as_json:
        written = str(target) if writable else None
        output.write_object((found.to_dict() | {"output": written}).items())
    return found.status
