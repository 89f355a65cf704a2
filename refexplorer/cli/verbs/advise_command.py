"""The command that tells what reading costs, and what would make it cheaper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.nearby import no_array
from refexplorer.cli.program import AsJson, SourceArgument, app, open_set, status_of
from refexplorer.cli.verbs.set_commands import Allow

if TYPE_CHECKING:
    from refexplorer.checks.advice.selections import Places, TaskChunks

_ACCESS = re.compile(r"(.*)\[([^\[\]]*)\]", re.DOTALL)


@app.command()
def advise(
    source: SourceArgument,
    access: Annotated[
        list[str] | None, typer.Option(help="A part of an array, such as 'sst[0,10:20]'.")
    ] = None,
    chunks: Annotated[
        list[str] | None,
        typer.Option(help="All of an array in Dask's chunks, such as sst:time=10,lat=90."),
    ] = None,
    place: Annotated[
        str,
        typer.Option(
            help="Where the targets are: object-store, far-object-store, http-server, lustre."
        ),
    ] = "object-store",
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Measure the place by at most 15 requests to a target."),
    ] = False,
    allow: Allow = None,
    as_json: AsJson = False,
) -> int:
    """Tell what opening and reading cost, and what would help.

    No target is read but to measure. Requests and bytes are those of the set; times are computed by
    a model of the place, whose numbers are assumed if they are not measured.
    """
    given: list[tuple[str, Places | TaskChunks]] = [*map(_part, access or ())]
    given += map(_chunks, chunks or ())
    refs = open_set(source)
    try:
        found = refs.allowing(*allow or ()).advise(given, place=place, measure=measure)
    except KeyError as error:
        raise no_array(refs, error.args[0]) from None
    if as_json:
        output.write_object(found.to_dict().items())
    else:
        for line in str(found).splitlines():
            output.write_line(line)
    return status_of(refs)


def _part(text: str) -> tuple[str, Sequence[int | slice]]:
    """Return an array and a part of it; ``"sst[0,10:20]"``."""
    from refexplorer.checks.advice.selections import parse_part

    match = _ACCESS.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a part of an array such as 'sst[0,10:20]'.")
    return match[1], parse_part(match[2])


def _chunks(text: str) -> tuple[str, Mapping[str, int]]:
    """Return an array and lengths of chunks; ``"sst:time=10"``."""
    path, _, lengths = text.rpartition(":")
    pairs = [each.partition("=") for each in lengths.split(",")]
    try:
        return path, {name.strip(): int(length) for name, _, length in pairs}
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} does not name an array and lengths such as sst:time=10,lat=90."
        ) from None
