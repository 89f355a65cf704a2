"""The command that compares a set with what its files say of themselves."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.commands import HAS_ERRORS, AsJson, SourceArgument, app, open_set
from refexplorer.cli.verbs.set_commands import Allow

if TYPE_CHECKING:
    from refexplorer.data.audit.auditing import AuditProgress


UNCOMPARABLE = 2
"""Nothing differs, but nothing was compared, or some files may not be read yet."""


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
        Path | None, typer.Option("--html", help="Write the report to an HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Compare the set with what its files say of themselves. Exit status 1 if it differs.

    Reads the metadata of each file with the library of its format, and compares the place and
    length of chunks, data types, filters, packing, units, dimensions and coordinates. The last line
    says what was not compared. Exit status 2 if that is all, or files may not be read yet.
    """
    if resume and results is None:
        raise typer.BadParameter("--resume requires --results.")
    refs = open_set(source)
    try:
        with output.counting("Listing references") as count:

            def watch(progress: AuditProgress) -> bool:
                if progress.total is None:
                    count(progress.listed, None)
                else:
                    count(progress.audited, progress.total, "Verifying")
                return True

            found = refs.verify(
                values=values.value,
                scheduler=scheduler,
                workers=workers,
                results=results,
                resume=resume,
                allow=allow or [],
                watch=watch,
            )
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
    if found.good:
        return 0
    return HAS_ERRORS if found.has_errors else UNCOMPARABLE
