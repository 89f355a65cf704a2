"""The command that writes a set in another form or with other targets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.nearby import no_array
from refexplorer.cli.program import AsJson, ConcatDim, SourceArgument, app, open_set, status_of
from refexplorer.cli.verbs.set_commands import Allow, Overwrite
from refexplorer.markup import counted

Pairs = list[str] | None
_DIGITS = 18
RenameRules = Annotated[Pairs, typer.Option(help="Replace the start of URLs: s3://a/=https://b/.")]


@app.command()
def convert(
    source: SourceArgument,
    target: Annotated[
        str,
        typer.Argument(
            help="A file (.json, .gz, .zst), folder (.parq, .icechunk) or s3:// (.icechunk)."
        ),
    ],
    form: Annotated[
        str | None, typer.Option("--to", help="Form of the output: v0, v1, parquet or icechunk.")
    ] = None,
    rename: RenameRules = None,
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
    inline_coordinates: Annotated[
        bool,
        typer.Option(
            "--inline-coordinates", help="Read what opening reads; write each as one chunk."
        ),
    ] = False,
    subchunk: Annotated[
        Pairs,
        typer.Option(help="Divide uncompressed chunks along the first dimension: x, or x=4."),
    ] = None,
    record_size: Annotated[
        str, typer.Option(help="Rows of each parquet record file; auto goes by what is read.")
    ] = "100000",
    message: Annotated[
        str | None, typer.Option(help="Message of the commit to an Icechunk repository.")
    ] = None,
    concat_dim: ConcatDim = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> int:
    """Write another form or other targets. What is written is read back and compared first."""
    from refexplorer.rewriting.conversion import Conversion, form_of
    from refexplorer.rewriting.converting import convert as convert_set

    refs = open_set(source, dict(pairs(template, "--template")), concat_dim)
    how = Conversion(
        form=form,
        renames=pairs(rename, "--rename"),
        absolute=absolute,
        relative=relative,
        inline=inline,
        allow=allow or (),
        outline=outline,
        objects=objects,
        record_size=_record_size(record_size),
        inline_coordinates=inline_coordinates,
        subchunk=dict(map(_parts, subchunk or ())),
        overwrite=overwrite,
        watch=output.progress,
    )
    how = how if message is None else replace(how, message=message)
    with output.saying_warnings():
        try:
            count = convert_set(refs, target, how)
        except KeyError as error:
            raise no_array(refs, error.args[0]) from None
    if as_json:
        output.write_object(
            {"output": target, "form": form_of(Path(target), form), "keys": count}.items()
        )
    else:
        same = "of the same values as" if inline_coordinates or subchunk else "identical to"
        output.write_line(
            f"{target}: {counted(count, 'key')}, read back and {same} {refs.source.name}."
        )
    return status_of(refs)


def pairs(texts: Pairs, option: str) -> list[tuple[str, str]]:
    """Split texts such as ``old=new``; BadParameter for what has no ``=``."""
    for text in texts or ():
        if "=" not in text:
            raise typer.BadParameter(f"{option} takes OLD=NEW, not {text!r}.")
    split = (text.partition("=") for text in texts or ())
    return [(old, new) for old, _, new in split]


def _parts(text: str) -> tuple[str, int | None]:
    """Return an array and how many chunks each of its chunks becomes; ``"x"`` or ``"x=4"``."""
    path, equals, number = text.rpartition("=")
    if not equals:
        return text, None
    if not number.isdecimal() or len(number) > _DIGITS or int(number) < 2:
        raise typer.BadParameter(f"--subchunk takes ARRAY or ARRAY=NUMBER, not {text!r}.")
    return path, int(number)


def _record_size(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or len(text) > _DIGITS or int(text) < 1:
        raise typer.BadParameter(f"--record-size takes a number of rows or auto, not {text!r}.")
    return int(text)
