"""The commands that find keys, and that teach: how a key came about, codes, readers, the schema."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.nearby import no_key
from refexplorer.cli.program import AsJson, SourceArgument, app, given, open_set, status_of
from refexplorer.explaining import explain_code as code_explained
from refexplorer.opening import dialects as dialects_of
from refexplorer.spec.derivation import TraceStep
from refexplorer.spec.references import Kind
from refexplorer.spec.rules import schema as schema_of

_WHOLE = " as a whole; a * before and after it also finds it inside keys"


@app.command()
def find(
    source: SourceArgument,
    pattern: Annotated[
        str, typer.Argument(help="Pattern to search for; a * also matches slashes.")
    ],
    mode: Annotated[str, typer.Option(help="Search mode: glob, regex or substring.")] = "glob",
    kind: Annotated[list[Kind] | None, typer.Option(help="List only keys of this kind.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Maximum number of keys to list.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List the keys that match."""
    refs = open_set(source)
    keys = output.at_most(refs.find(pattern, mode=mode, kind=kind), limit)
    if as_json:
        output.write_json({"source": refs.source.name, "pattern": pattern}, "keys", keys)
    else:
        number = 0
        for number, key in enumerate(keys, 1):  # noqa: B007  it tells whether there was any
            output.write_line(key)
        if not number and limit != 0:
            whole = _WHOLE if mode == "glob" and "*" not in pattern else ""
            output.say(f"No key matches {pattern!r}{whole}.")
    return status_of(refs)


@app.command()
def explain(
    source: SourceArgument,
    key: Annotated[str, typer.Argument(help="A key of the set.")],
    shard: Annotated[
        bool,
        typer.Option("--shard", help="Read the index of the shard and list its inner chunks."),
    ] = False,
    allow: Annotated[
        list[str] | None, typer.Option(help="Allow a place to be read for --shard.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Tell how a key came about, step by step."""
    refs = open_set(source)
    if shard:
        from refexplorer.cli.inner_facts import tell_shard

        return tell_shard(refs, key, allow or [], as_json)
    try:
        trace = refs.explain(key)
    except KeyError:
        raise no_key(refs, key) from None
    if as_json:
        fields = {"key": key, "origin": trace.origin, "v0": refs[key].to_v0()}
        output.write_json(fields, "steps", map(_derivation, trace.seen().steps))
    else:
        for line in str(trace).splitlines():
            output.write_line(line)
    return status_of(refs)


def _derivation(step: TraceStep) -> dict[str, object]:
    """Return the fields of a step that is taken in the document."""
    names = ("name", "pointer", "source", "result", "variables")
    parts = [asdict(each) for each in step.substitutions]
    return {name: getattr(step, name) for name in names} | {"substitutions": parts}


@app.command()
def explain_code(
    code: Annotated[
        str, typer.Argument(help="A code, such as overlapping-ranges, as check prints it.")
    ],
    as_json: AsJson = False,
) -> int:
    """Tell what a diagnostic code means and what to do."""
    found = code_explained(code)
    if as_json:
        output.write_object(found.fields().items())
    else:
        for line in str(found).splitlines():
            output.write_line(line)
    return 0


@app.command()
def dialects(
    source: SourceArgument,
    reader: Annotated[
        list[str] | None,
        typer.Option("--reader", help="Compare only this reader; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Compare how readers read the set. Exit status 1 if one that was run loses or changes keys.

    fsspec, VirtualiZarr and icechunk are run where they are installed. A reader that refuses the
    set counts only where all do. Exit status 2 if none was run.
    """
    found = dialects_of(given(source), readers=reader)
    if as_json:
        output.write_json({"source": source}, "readers", (asdict(verdict) for verdict in found))
    else:
        for line in str(found).splitlines():
            output.write_line(line)
    return 2 if found.has_losses is None else int(found.has_losses)


@app.command()
def schema(
    v0: Annotated[
        bool, typer.Option("--v0", help="Print the schema of version 0 instead of version 1.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Write the JSON Schema of reference sets. It is JSON with and without --json."""
    output.write_object(schema_of(0 if v0 else 1).items())
    return 0
