"""The commands that go through all keys of a set: infer, and diff."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.program import (
    HAS_ERRORS,
    STANDARD_INPUT,
    AsJson,
    SourceArgument,
    app,
    open_set,
    status_of,
)
from refexplorer.errors import SourceError

if TYPE_CHECKING:
    from refexplorer.differing import Difference
    from refexplorer.refset.differences import KeyChange

Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Write the document to this file (.json, .json.gz, .json.zst)."
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Overwrite the output if it exists.")]
Allow = Annotated[
    list[str] | None,
    typer.Option(help="Allow a place to be read: a folder, s3://bucket, a host."),
]


@app.command()
def infer(
    source: SourceArgument,
    target: Output = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> int:
    """Find the smallest version 1 of the same references."""
    from refexplorer.display.inference import part_rows, parts_sentence, size_sentence
    from refexplorer.inferring import infer as infer_from

    if target is not None and target.exists() and not overwrite:
        raise SourceError(f"{str(target)!r} exists; choose another name or pass --overwrite.")
    refs = open_set(source)
    with output.counting(f"Looking for progressions in {refs.source.name}") as count:
        found = infer_from(refs, progress=count)
    if target is not None:
        found.to_json(target)
    if as_json:
        fields = {
            "source": found.name,
            "size_before": found.size_before,
            "size_after": found.size_after,
            "keys": found.keys,
            "generated": found.generated,
            "kept_explicit": found.kept_explicit,
            "templates": dict(found.templates),
        }
        output.write_json(fields, "gen", found.gen)
    else:
        output.write_rows(("Part", "Key or name", "URL"), part_rows(found))
        output.say(f"{found.name}: {size_sentence(found)}")
        output.say(parts_sentence(found))
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
    """Tell what differs between two sets. Exit status 1 if anything does."""
    from refexplorer.differing import diff as difference_of
    from refexplorer.display.difference import MARKS, reference_text, sentences, title

    if before == after == STANDARD_INPUT:
        raise typer.BadParameter("Only one of the two sets can come from standard input.")
    sides = [open_set(source) for source in (before, after)]
    with output.waiting(f"Comparing {sides[0].source.name} with {sides[1].source.name}"):
        found = difference_of(*sides, read=read, allow=allow or [])
        rows = found.rows(start, start + limit, change=change)
    if as_json:
        output.write_json(_facts(found), "rows", map(_row, rows))
        return HAS_ERRORS if found else 0
    output.write_rows(
        ("", "Change", "Keys"), ((MARKS[name], name, n) for name, n in found.counts.items())
    )
    for sentence in sentences(found):
        output.write_line(sentence)
    texts = ((reference_text(row.before), reference_text(row.after)) for row in rows)
    cells = ((MARKS[row.change], row.key, *two) for row, two in zip(rows, texts, strict=True))
    output.write_rows(("", "Key", "Before", "After"), cells)
    output.say(title(found))
    return HAS_ERRORS if found else 0


def _facts(found: Difference) -> dict[str, object]:
    from refexplorer.display.difference import share

    return {
        "before": found.before.source.name,
        "after": found.after.source.name,
        "total": found.total,
        "equal": found.equal,
        "keys": found.keys,
        "percent_equal": share(found),
        "counts": dict(found.counts),
        "arrays_moved": [move._asdict() for move in found.arrays_moved],
        "renames": [rename._asdict() for rename in found.renames],
        "shifts": [shift._asdict() for shift in found.shifts],
        "fields": [field._asdict() for field in found.fields],
    }


def _row(change: KeyChange) -> dict[str, object]:
    before, after = (
        None if side is None else side.to_v0() for side in (change.before, change.after)
    )
    return {"key": change.key, "change": change.change, "before": before, "after": after}
