"""The command that repairs a set with what the metadata of its files say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.program import AsJson, SourceArgument, app, open_set
from refexplorer.cli.verbs.convert_command import RenameRules, pairs
from refexplorer.cli.verbs.long_runs import watching
from refexplorer.cli.verbs.set_commands import Allow, Overwrite
from refexplorer.cli.verbs.verify_command import ValuesCompared
from refexplorer.markup import counted


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
    from refexplorer.rewriting.conversion import Conversion, check_output
    from refexplorer.rewriting.repairing import repair as repair_set

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
        for line in str(found).splitlines():
            output.write_line(line)
    writable = target is not None and found.can_be_written
    if target is not None and writable:
        with output.saying_warnings():
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
