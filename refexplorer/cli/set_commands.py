"""The commands that go through all keys of a set: a shorter document for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.commands import AsJson, Source, app, open_set, status_of
from refexplorer.errors import SourceError
from refexplorer.inferring import infer as infer_from

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write the document there (.json, .json.gz, .json.zst)."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it is there.")]


@app.command()
def infer(
    source: Source,
    target: Output = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> int:
    """Find the smallest version 1 that expands to the same references."""
    if target is not None and target.exists() and not overwrite:
        raise SourceError(f"{str(target)!r} exists; choose another name or pass --overwrite.")
    refs = open_set(source)
    with output.waiting(f"Looking for progressions in {refs.source.name}"):
        found = infer_from(refs)
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
        for line in str(found).splitlines():
            output.write_line(line)
    return status_of(refs)
