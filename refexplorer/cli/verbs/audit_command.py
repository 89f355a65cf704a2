"""The command that audits targets and chunks of a large set, here or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refexplorer.cli.program import (
    HAS_ERRORS,
    NOT_CHECKED,
    AsJson,
    SourceArgument,
    app,
    open_set,
)
from refexplorer.cli.verbs.long_runs import (
    Results,
    Resume,
    Scheduler,
    Workers,
    check_resume,
    show,
    watching,
)
from refexplorer.cli.verbs.set_commands import Allow


@app.command()
def audit(
    source: SourceArgument,
    allow: Allow = None,
    decode: Annotated[
        str,
        typer.Option(help="Chunks of each array to decode: a number, sample (10), all or none."),
    ] = "sample",
    scheduler: Scheduler = None,
    workers: Workers = None,
    results: Results = None,
    resume: Resume = False,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write the summary to an HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Ask targets, compare ranges with their sizes, decode chunks. Exit status 1 if any is wrong.

    Values and metadata are not compared with the files; the answer says what was not checked. Exit
    status 2 if nothing is wrong so far, but some targets may not be read yet.
    """
    check_resume(resume, results)
    refs = open_set(source)
    with watching("Auditing", results) as watch:
        found = refs.allowing(*allow or ()).audit(
            decode=decode,
            scheduler=scheduler,
            workers=workers,
            results=results,
            resume=resume,
            watch=watch,
        )
    show(found, page, as_json)
    if found.good:
        return 0
    return HAS_ERRORS if found.summary.has_errors else NOT_CHECKED
