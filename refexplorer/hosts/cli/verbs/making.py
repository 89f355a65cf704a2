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
    Natural,
    OutputOrNone,
    TextOrNone,
    Texts,
    app,
    asked_options,
    open_set,
    status_of,
)
from refexplorer.hosts.cli.verbs.looking import naming_missing

if TYPE_CHECKING:
    from refexplorer.refset.differences import KeyChange
    from refexplorer.verbs.differing import Difference

FormText = Annotated[str | None, typer.Option("--to")]


@app.command()
def infer(
    source: str, target: OutputOrNone = None, overwrite: bool = False, as_json: AsJson = False
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
    before: str,
    after: str,
    change: str | None = None,
    start: Natural = 0,
    limit: Natural = 100,
    read: bool = False,
    allow: Texts = None,
    as_json: AsJson = False,
) -> int:
    """List the differences between two sets. Exit status 1 if there are any."""
    from refexplorer.verbs.differing import MARKS, reference_text, sentences, title
    from refexplorer.verbs.differing import diff as difference_of

    if before == after == STANDARD_INPUT:
        raise typer.BadParameter("Only one of the two sets can come from standard input.")
    sides = [open_set(source) for source in (before, after)]
    with output.counting(f"Comparing {sides[0].source.name} with {sides[1].source.name}"):
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
    source: Annotated[list[str], typer.Argument(metavar="SOURCE...")],
    concat_dim: str | None = None,
    as_json: AsJson = False,
) -> int:
    """Compare files before combining them. Exit status 1 if not all can be combined.

    Lists the differences by variable and file, and the smallest number of groups of files that can
    be combined. Reads coordinates, but no other data. Exit status 2 if a file could not be read.
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


_DIGITS = 18  # all numbers of 18 digits fit into int64


@app.command()
def convert(
    source: str,
    target: TextOrNone = None,
    to_file: Annotated[str | None, typer.Option("--output", "-o")] = None,
    form: FormText = None,
    rename: Texts = None,
    template: Texts = None,
    absolute: bool = False,
    relative: bool = False,
    inline: Natural = 0,
    allow: Texts = None,
    outline: Path | None = None,
    explicit: bool = False,
    objects: bool = False,
    inline_coordinates: bool = False,
    subchunk: Texts = None,
    record_size: str = "100000",
    message: str | None = None,
    concat_dim: str | None = None,
    overwrite: bool = False,
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
        explicit=explicit,
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
    written = form_of(Path(target), form)
    kind = f"{written} JSON" if written in ("V0", "V1") else written
    text = f"{target}: {counted(count, 'key')} as {kind}, read back and {same} {refs.source.name}."
    facts = {"output": target, "form": written, "keys": count}
    output.write_answer(text, facts, as_json)
    return status_of(refs)


def pairs(texts: Texts, option: str) -> list[tuple[str, str]]:
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
