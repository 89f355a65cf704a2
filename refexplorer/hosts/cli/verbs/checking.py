"""Commands that check a set: ``check``, ``audit``, ``verify``, and ``repair``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from refexplorer.core.text import counted
from refexplorer.hosts.cli import output
from refexplorer.hosts.cli.program import (
    AsJson,
    SourceArgument,
    app,
    open_set,
)
from refexplorer.hosts.cli.sets import over_sets
from refexplorer.hosts.cli.verbs.making import Allow, Overwrite, RenameRules, pairs

if TYPE_CHECKING:
    from refexplorer.checks.engine import AuditProgress, AuditWatch
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
Only = Annotated[
    str | None, typer.Option(help="A share of the files: 3/30 is the third of thirty.")
]
Against = Annotated[
    Path | None,
    typer.Option(help="Compare with what `refexplorer lock` wrote: changed, gone, new files."),
]
Within = Annotated[str | None, typer.Option(help="Begin nothing after this time, such as 30m.")]


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


@app.command()
@over_sets
def check(
    source: str,
    targets: Annotated[
        bool,
        typer.Option("--targets", help="Request size and version of each target; no data is read."),
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            help="Allow a place to be accessed: a folder, s3://bucket, a host. Coordinates of "
            "dimensions are read there."
        ),
    ] = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    results: Results = None,
    resume: Resume = False,
    only: Only = None,
    within: Within = None,
    against: Against = None,
    expect: Annotated[
        Path | None,
        typer.Option(help="A TOML file of expectations: coordinates, arrays, files."),
    ] = None,
) -> Report:
    """List what is wrong or odd, with the place and what to do.

    Of many findings of one kind the first are listed. Inline coordinates are checked for gaps,
    duplicates, order and missing values; --allow reads those that are in files, too (with
    --targets, only for --expect). Targets are not asked without --targets or --against;
    `refexplorer audit` decodes. Exit status 2 if some may not be asked yet.
    """
    targets = targets or against is not None
    if any((scheduler, workers, results, resume, only, within)) and not targets:
        raise typer.BadParameter(
            "--scheduler, --workers, --results, --resume, --only and --within require --targets."
        )
    check_resume(resume, results)
    refs = open_set(source)
    if not targets:
        return refs.allowing(*allow or ()).check(read_coordinates=bool(allow), expect=expect)
    with watching("Asking targets", results) as watch:
        return refs.allowing(*allow or ()).check_targets(
            scheduler=scheduler,
            workers=workers,
            results=results,
            resume=resume,
            watch=watch,
            only=only,
            within=within,
            read_coordinates=bool(allow) and expect is not None,
            expect=expect,
            against=against,
        )


@app.command()
@over_sets
def audit(
    source: str,
    allow: Allow = None,
    decode: Annotated[
        str,
        typer.Option(help="Chunks of each array to decode: a number, sample (10), all or none."),
    ] = "sample",
    scheduler: Scheduler = None,
    workers: Workers = None,
    results: Results = None,
    resume: Resume = False,
    only: Only = None,
    within: Within = None,
    against: Against = None,
) -> Report:
    """Ask targets, compare ranges with their sizes, decode chunks. Exit status 1 if any is wrong.

    Values and metadata are not compared with the files. Exit status 2 if nothing is wrong so far,
    but some targets may not be read yet.
    """
    check_resume(resume, results)
    refs = open_set(source)
    with watching("Auditing", results) as watch:
        return refs.allowing(*allow or ()).audit(
            decode=decode,
            scheduler=scheduler,
            workers=workers,
            results=results,
            resume=resume,
            watch=watch,
            only=only,
            within=within,
            against=against,
        )


class ValuesCompared(StrEnum):
    """Chunks of each array whose values are compared."""

    none = "none"
    sample = "sample"
    all = "all"


@app.command()
@over_sets
def verify(
    source: str,
    allow: Allow = None,
    values: Annotated[
        ValuesCompared,
        typer.Option(help="Compare values as well, of ten chunks of each array, or all."),
    ] = ValuesCompared.none,
    scheduler: Scheduler = None,
    workers: Workers = None,
    results: Results = None,
    resume: Resume = False,
    only: Only = None,
    within: Within = None,
    against: Against = None,
) -> Report:
    """Compare the set with the files' own metadata. Exit status 1 if they differ.

    Reads the metadata of each file with the library of its format, and compares the place and
    length of chunks, data types, filters, packing, units, dimensions and coordinates, and what the
    files hold that the set does not. Exit status 2 if something could not be compared. A set
    without file references passes.
    """
    check_resume(resume, results)
    refs = open_set(source)
    with watching("Verifying", results) as watch:
        return refs.allowing(*allow or ()).verify(
            values=values.value,
            scheduler=scheduler,
            workers=workers,
            results=results,
            resume=resume,
            watch=watch,
            only=only,
            within=within,
            against=against,
        )


@app.command()
def lock(
    source: SourceArgument,
    target: Annotated[Path, typer.Option("--output", "-o", help="The file to write (parquet).")],
    checksums: Annotated[
        str,
        typer.Option(
            help="Chunks of each array to read for a checksum: a number, sample (10), all or none."
        ),
    ] = "none",
    allow: Allow = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    only: Only = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> int:
    """Write the versions of all files, to compare with later.

    The lock has size, ETag and time of each file, shapes and ends of axes. `refexplorer check SET
    --against FILE` names what changed, went away or came back. With --only
    the answers of the other files stay in the lock, with their time. The exit status is that of
    `check --targets`: the lock is written, whatever it is.
    """
    from refexplorer.checks.locks import Lock

    refs = open_set(source).allowing(*allow or ())
    with watching("Asking targets", None) as watch:
        report = refs.lock(
            target,
            checksums=checksums,
            overwrite=overwrite,
            scheduler=scheduler,
            workers=workers,
            watch=watch,
            only=only,
        )
    if as_json:
        output.write_object((report.to_dict() | {"output": str(target)}).items())
    else:
        output.write_text(report.to_text())
        output.write_line(f"{target}: {Lock.read(target).text()}")
    return report.status


@app.command()
def repair(
    source: SourceArgument,
    target: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="A new file (.json, .gz, .zst) or folder (.parq, .icechunk)."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change; write nothing.")
    ] = False,
    form: Annotated[
        str | None, typer.Option("--to", help="Form of the output: v0, v1, parquet or icechunk.")
    ] = None,
    rename: RenameRules = None,
    values: Annotated[
        ValuesCompared,
        typer.Option(help="Compare values as well, of ten chunks of each array, or all."),
    ] = ValuesCompared.none,
    allow: Allow = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> int:
    """Write a repaired set, made from the metadata of its files.

    References that are stale, shifted or lead to the wrong array are replaced where a file says
    where the chunk is; metadata is replaced where all files agree. No chunk may get worse: such a
    change is left out, with the reason. The differences are shown first; the repaired set is
    verified before it is written, and again before it gets its name. What cannot be repaired is
    listed and left unchanged. The exit status is that of `verify` for the repaired set: 1 if it
    still differs from its files, 2 if something is not known.
    """
    from refexplorer.verbs.converting import Conversion, check_output
    from refexplorer.verbs.repair.repairing import repair as repair_set

    if (target is None) != dry_run:
        raise typer.BadParameter("Pass either --output or --dry-run.")
    refs = open_set(source)
    if target is not None:
        check_output(refs, target, None, Conversion(form=form, overwrite=overwrite))
    with watching("Verifying", None) as watch:
        found = repair_set(
            refs,
            renames=pairs(rename, "--rename"),
            values=values.value,
            allow=allow or [],
            watch=watch,
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
                watch_verifying=lambda: watching("Verifying what was written", None),
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
