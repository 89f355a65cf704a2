"""Commands that write a set, ``convert`` and ``infer``, or compare: ``diff``, ``preflight``."""

from __future__ import annotations

from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from refexplorer.core.errors import SourceError
from refexplorer.core.text import counted
from refexplorer.hosts.cli import output
from refexplorer.hosts.cli.program import (
    HAS_ERRORS,
    STANDARD_INPUT,
    AsJson,
    ConcatDim,
    SourceArgument,
    app,
    asked_options,
    open_set,
    status_of,
)
from refexplorer.hosts.cli.verbs.looking import naming_missing

if TYPE_CHECKING:
    from refexplorer.refset.differences import KeyChange
    from refexplorer.verbs.differing import Difference

Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Write the document to this file (.json, .json.gz, .json.zst)."
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Overwrite the output if it exists.")]
Allow = Annotated[
    list[str] | None, typer.Option(help="Allow a place to be read: a folder, s3://bucket, a host.")
]


@app.command()
def infer(
    source: SourceArgument,
    target: Output = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> int:
    """Find the smallest version 1 document of a set."""
    from refexplorer.verbs.inferring import infer as infer_from
    from refexplorer.verbs.inferring import part_rows, parts_text, savings_text

    if target is not None and target.exists() and not overwrite:
        raise SourceError(f"{str(target)!r} exists; choose another name or pass --overwrite.")
    refs = open_set(source)
    with output.counting(f"Looking for progressions in {refs.source.name}") as count:
        inference = infer_from(refs, progress=count)
    if target is not None:
        inference.to_json(target)
    if as_json:
        names = ("size_before", "size_after", "keys", "generated", "kept_explicit", "templates")
        fields = {"source": inference.name} | {name: getattr(inference, name) for name in names}
        output.write_json(fields, "gen", inference.gen)
    else:
        output.write_rows(("Part", "Key or name", "URL"), part_rows(inference))
        output.say(f"{inference.name}: {savings_text(inference)}")
        output.say(parts_text(inference))
    return status_of(refs)


@app.command()
def diff(
    before: SourceArgument,
    after: SourceArgument,
    change: Annotated[
        str | None, typer.Option(help="List only the keys with this change, such as moved.")
    ] = None,
    start: Annotated[int, typer.Option(min=0, help="Number of the first key, counted from 0.")] = 0,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number of keys to list.")] = 100,
    read: Annotated[
        bool,
        typer.Option(
            "--read", help="Read data that is inline on one side only, to compare the bytes."
        ),
    ] = False,
    allow: Allow = None,
    as_json: AsJson = False,
) -> int:
    """List the differences between two sets. Exit status 1 if there are any."""
    from refexplorer.verbs.differing import MARKS, reference_text, sentences, title
    from refexplorer.verbs.differing import diff as difference_of

    if before == after == STANDARD_INPUT:
        raise typer.BadParameter("Only one of the two sets can come from standard input.")
    sides = [open_set(source) for source in (before, after)]
    with output.waiting(f"Comparing {sides[0].source.name} with {sides[1].source.name}"):
        difference = difference_of(*sides, read=read, allow=allow or [])
        rows = difference.rows(start, start + limit, change=change)
    if as_json:
        output.write_json(_facts(difference), "rows", map(_row, rows))
        return HAS_ERRORS if difference else 0
    output.write_rows(
        ("", "Change", "Keys"), ((MARKS[name], name, n) for name, n in difference.counts.items())
    )
    for sentence in sentences(difference):
        output.write_line(sentence)
    texts = ((reference_text(row.before), reference_text(row.after)) for row in rows)
    cells = ((MARKS[row.change], row.key, *two) for row, two in zip(rows, texts, strict=True))
    output.write_rows(("", "Key", "Before", "After"), cells)
    output.say(title(difference))
    return HAS_ERRORS if difference else 0


@app.command()
def preflight(
    source: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="A pattern such as 'f*.nc', or paths and URLs."),
    ],
    concat_dim: Annotated[
        str | None,
        typer.Option(help="The dimension along which files are joined; else the one that differs."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Compare files before combining them. Exit status 1 if not all can be combined.

    Lists the differences by variable and file, and the smallest number of groups of files that can
    be combined. Coordinates are read, data are not. Exit status 2 if a file could not be read.
    """
    from refexplorer.verbs.preflight import preflight as compare

    files = source[0] if len(source) == 1 and has_magic(source[0]) else source
    with output.print_warnings(), output.counting("Reading files", of_bytes=True) as progress:
        found = compare(
            files, concat_dim=concat_dim, storage_options=asked_options(), progress=progress
        )
    output.write_answer(found, found.to_dict(), as_json)
    return found.status


def _facts(difference: Difference) -> dict[str, object]:
    from refexplorer.verbs.differing import share

    facts: dict[str, object] = {
        "before": difference.before.source.name,
        "after": difference.after.source.name,
        "percent_equal": share(difference),
    }
    facts |= {name: getattr(difference, name) for name in ("total", "equal", "keys", "counts")}
    for name in ("arrays_moved", "renames", "shifts", "fields"):
        facts[name] = [each._asdict() for each in getattr(difference, name)]
    return facts


def _row(change: KeyChange) -> dict[str, object]:
    before, after = (
        None if side is None else side.to_v0() for side in (change.before, change.after)
    )
    return {"key": change.key, "change": change.change, "before": before, "after": after}


Pairs = list[str] | None
_DIGITS = 18  # all numbers of 18 digits fit into int64
RenameRules = Annotated[Pairs, typer.Option(help="Replace the start of URLs: s3://a/=https://b/.")]


@app.command()
def convert(
    source: SourceArgument,
    target: Annotated[
        str | None,
        typer.Argument(
            help="A file (.json, .gz, .zst), folder (.parq, .icechunk) or s3:// (.icechunk)."
        ),
    ] = None,
    to_file: Annotated[
        str | None, typer.Option("--output", "-o", help="The same as TARGET, as `infer` has it.")
    ] = None,
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
        bool, typer.Option("--inline-coordinates", help="Inline coordinates, each as one chunk.")
    ] = False,
    subchunk: Annotated[
        Pairs, typer.Option(help="Divide uncompressed chunks along the first dimension: x, or x=4.")
    ] = None,
    record_size: Annotated[
        str, typer.Option(help="Rows of each parquet record file; auto chooses by what is read.")
    ] = "100000",
    message: Annotated[
        str | None, typer.Option(help="Message of the commit to an Icechunk repository.")
    ] = None,
    concat_dim: ConcatDim = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> int:
    """Convert a set to another format or targets. The output is read back and compared."""
    from refexplorer.verbs.converting import Conversion, form_of
    from refexplorer.verbs.converting import convert as convert_set

    if (target is None) == (to_file is None):
        raise typer.BadParameter("Name one output, as TARGET or with -o.")
    target = target or to_file or ""
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
    with output.print_warnings(), naming_missing(refs):
        count = convert_set(refs, target, how)
    same = "of the same values as" if inline_coordinates or subchunk else "identical to"
    text = f"{target}: {counted(count, 'key')}, read back and {same} {refs.source.name}."
    facts = {"output": target, "form": form_of(Path(target), form), "keys": count}
    output.write_answer(text, facts, as_json)
    return status_of(refs)


def pairs(texts: Pairs, option: str) -> list[tuple[str, str]]:
    """Split texts such as ``old=new``; BadParameter without ``=``."""
    for text in texts or ():
        if "=" not in text:
            raise typer.BadParameter(f"{option} takes OLD=NEW, not {text!r}.")
    split = (text.partition("=") for text in texts or ())
    return [(old, new) for old, _, new in split]


def _parts(text: str) -> tuple[str, int | None]:
    """Return an array and the factor by which its chunks are split; ``"x"`` or ``"x=4"``."""
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
