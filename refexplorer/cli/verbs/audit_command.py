"""The command that audits targets and chunks of a large set, here or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.commands import HAS_ERRORS, AsJson, SourceArgument, app, open_set
from refexplorer.cli.verbs.set_commands import Allow
from refexplorer.referenceset import ReferenceSet

if TYPE_CHECKING:
    from refexplorer.data.audit.auditing import AuditProgress
    from refexplorer.data.audit.report.audit_report import Audit


@app.command()
def audit(
    source: SourceArgument,
    allow: Allow = None,
    decode: Annotated[
        str,
        typer.Option(help="Chunks of each array to decode: a number, sample (10), all or none."),
    ] = "sample",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of threads without a scheduler.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Folder for the table of results (parquet).")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume after the last finished part of the results.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write the summary to an HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Ask targets, compare ranges with their sizes, decode chunks. Exit status 1 if any is wrong.

    Values and metadata are not compared with the files; the answer says what was not checked.
    """
    if resume and results is None:
        raise typer.BadParameter("--resume requires --results.")
    refs = open_set(source)
    try:
        found = _watched(refs, allow or [], decode, scheduler, workers, results, resume)
    except KeyboardInterrupt:
        if results is not None:
            output.say(f"Stopped. Finished parts are kept in {results}; continue with --resume.")
        raise
    if page is not None:
        found.to_html(page)
    if as_json:
        output.write_object(found.to_dict().items())
    else:
        for line in str(found).splitlines():
            output.write_line(line)
    return 0 if found.good else HAS_ERRORS


def _watched(
    refs: ReferenceSet,
    allow: list[str],
    decode: str,
    scheduler: str | None,
    workers: int | None,
    results: Path | None,
    resume: bool,
) -> Audit:
    with output.counting("Listing references") as count:

        def watch(progress: AuditProgress) -> bool:
            if progress.total is None:
                count(progress.listed, None)
            else:
                count(progress.audited, progress.total, "Auditing")
            return True

        return refs.audit(
            decode=decode,
            scheduler=scheduler,
            workers=workers,
            results=results,
            resume=resume,
            allow=allow,
            watch=watch,
        )
