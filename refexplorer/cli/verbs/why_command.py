"""The command that tells why a value is what it is."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from refexplorer.cli import output
from refexplorer.cli.nearby import no_array
from refexplorer.cli.program import AsJson, SourceArgument, app, open_set, status_of
from refexplorer.cli.verbs.set_commands import Allow


@app.command()
def why(
    source: SourceArgument,
    array: Annotated[str, typer.Argument(help="The path of an array.")],
    index: Annotated[str, typer.Argument(help="A place for each dimension, such as 0,10,20.")],
    allow: Allow = None,
    as_json: AsJson = False,
) -> int:
    """Tell why a value is what it is. Its chunk is read."""
    try:
        place = [int(part) for part in index.split(",") if part.strip()]
    except ValueError:
        raise typer.BadParameter(f"{index!r} is not a list of integers such as 0,10,20.") from None
    refs = open_set(source)
    try:
        found = refs.allowing(*allow or ()).why(array, place)
    except KeyError:
        raise no_array(refs, array) from None
    if as_json:
        reference = found.reference
        names = ("array", "index", "cause", "sentence", "key", "chunk")
        fields = {name: getattr(found, name) for name in names}
        fields |= {name: getattr(reference, name, None) for name in ("url", "offset", "length")}
        fields |= {"raw": _plain(found.raw), "shown": _plain(found.shown)}
        steps = ({"name": step.name, "text": step.text} for step in found.seen().steps)
        output.write_json(fields, "steps", steps)
    else:
        for line in str(found).splitlines():
            output.write_line(line)
    return status_of(refs)


def _plain(value: Any) -> object:
    """Return a value of an array as JSON has it; texts of times, of bytes and of NaN."""
    plain = getattr(value, "item", lambda: value)()
    is_json = isinstance(plain, bool | int | str) or (
        isinstance(plain, float) and math.isfinite(plain)
    )
    return plain if is_json or plain is None else str(value)
