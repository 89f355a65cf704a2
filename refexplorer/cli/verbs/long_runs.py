"""The options, the progress and the output that `audit` and `verify` have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from refexplorer.cli import output

if TYPE_CHECKING:
    from refexplorer.checks.engine import AuditProgress, AuditWatch
    from refexplorer.checks.render.audit_report import Audit
    from refexplorer.checks.report import Report

Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Number of threads without a scheduler.")]
Results = Annotated[Path | None, typer.Option(help="Folder for the table of results (parquet).")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Resume after the last finished part; changed files are read again."
    ),
]


def check_resume(resume: bool, results: Path | None) -> None:
    """Raise BadParameter if a run shall resume, and nothing says where its results are."""
    if resume and results is None:
        raise typer.BadParameter("--resume requires --results.")


@contextmanager
def watching(doing: str, results: Path | None) -> Iterator[AuditWatch]:
    """Give what shows the progress of a run; if it is interrupted, say what is kept."""
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


def show(found: Audit | Report, page: Path | None, as_json: bool) -> None:
    """Print what was found, and write its page."""
    if page is not None:
        with output.saying_warnings():
            found.to_html(page)
    if as_json:
        output.write_object(found.to_dict().items())
    else:
        for line in str(found).splitlines():
            output.write_line(line)
