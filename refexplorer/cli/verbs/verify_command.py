"""The command that compares a set with what its files say of themselves."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from refexplorer.cli.program import AsJson, SourceArgument, app, open_set
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


class ValuesCompared(StrEnum):
    """Chunks of each array whose values are compared."""

    none = "none"
    sample = "sample"
    all = "all"


@app.command()
def verify(
    source: SourceArgument,
    allow: Allow = None,
    values: Annotated[
        ValuesCompared,
        typer.Option(help="Compare values as well, of ten chunks of each array, or all."),
    ] = ValuesCompared.none,
    scheduler: Scheduler = None,
    workers: Workers = None,
    results: Results = None,
    resume: Resume = False,
    only: Annotated[
        str | None, typer.Option(help="A share of the files: 3/30 is the third of thirty.")
    ] = None,
    within: Annotated[
        str | None, typer.Option(help="Begin nothing after this time, such as 30m.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write the report to an HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Compare the set with the files' own metadata. Exit status 1 if they differ.

    Reads the metadata of each file with the library of its format, and compares the place and
    length of chunks, data types, filters, packing, units, dimensions and coordinates, and what the
    files hold that the set does not. Exit status 2 if something could not be compared. A set
    without file references passes.
    """
    check_resume(resume, results)
    refs = open_set(source)
    with watching("Verifying", results) as watch:
        found = refs.allowing(*allow or ()).verify(
            values=values.value,
            scheduler=scheduler,
            workers=workers,
            results=results,
            resume=resume,
            watch=watch,
            only=only,
            within=within,
        )
    show(found, page, as_json)
    return found.status
