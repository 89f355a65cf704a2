"""The command that writes a set in another form or with other targets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.commands import AsJson, SourceArgument, app, open_set, status_of
from refexplorer.cli.verbs.set_commands import Allow, Overwrite
from refexplorer.markup import counted

Pairs = list[str] | None


@app.command()
def convert(
    source: SourceArgument,
    target: Annotated[
        Path, typer.Argument(help="A file (.json, .gz, .zst) or folder (.parq, .icechunk).")
    ],
    form: Annotated[
        str | None, typer.Option("--to", help="Form of the output: v0, v1, parquet or icechunk.")
    ] = None,
    rename: Annotated[
        Pairs, typer.Option(help="Replace the start of URLs: s3://a/=https://b/.")
    ] = None,
    template: Annotated[
        Pairs, typer.Option(help="Override a template of the source: u=s3://b.")
    ] = None,
    absolute: Annotated[
        bool,
        typer.Option(
            "--absolute", help="Resolve relative URLs against the location of the source."
        ),
    ] = False,
    relative: Annotated[
        bool, typer.Option("--relative", help="Write URLs of files near the output relative to it.")
    ] = False,
    inline: Annotated[int, typer.Option(min=0, help="Inline byte ranges of up to this size.")] = 0,
    allow: Allow = None,
    outline: Annotated[
        Path | None, typer.Option(help="Move inline data of chunks to this file.")
    ] = None,
    objects: Annotated[
        bool, typer.Option("--objects", help="Write metadata as JSON objects, not as strings.")
    ] = False,
    record_size: Annotated[
        int, typer.Option(min=1, help="Rows of each parquet record file.")
    ] = 100_000,
    message: Annotated[
        str | None, typer.Option(help="Message of the commit to an Icechunk repository.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> int:
    """Write another form or other targets. What is written is read back and compared first."""
    from refexplorer.converting import Conversion, form_of
    from refexplorer.converting import convert as convert_set

    refs = open_set(source, dict(_pairs(template, "--template")))
    how = Conversion(
        form=form,
        renames=_pairs(rename, "--rename"),
        absolute=absolute,
        relative=relative,
        inline=inline,
        allow=allow or (),
        outline=outline,
        objects=objects,
        record_size=record_size,
        overwrite=overwrite,
        watch=output.progress,
        **({} if message is None else {"message": message}),
    )
    with output.saying_warnings():
        count = convert_set(refs, target, how)
    if as_json:
        output.write_object(
            {"output": str(target), "form": form_of(target, form), "keys": count}.items()
        )
    else:
        output.write_line(
            f"{target}: {counted(count, 'key')}, read back and identical to {refs.source.name}."
        )
    return status_of(refs)


def _pairs(texts: Pairs, option: str) -> list[tuple[str, str]]:
    """Split texts such as ``old=new``."""
    for text in texts or ():
        if "=" not in text:
            raise typer.BadParameter(f"{option} takes OLD=NEW, not {text!r}.")
    split = (text.partition("=") for text in texts or ())
    return [(old, new) for old, _, new in split]
