"""The commands that open the page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from refexplorer.core.errors import RefexplorerError
from refexplorer.core.limits import VisitorLimits
from refexplorer.core.text import size_text
from refexplorer.hosts.cli import output
from refexplorer.hosts.cli.program import (
    AsJson,
    Natural,
    Output,
    TextOrNone,
    Texts,
    app,
    asked_options,
    open_set,
    status_of,
)
from refexplorer.hosts.cli.verbs.looking import naming_missing
from refexplorer.verbs.referenceset import PAGE_KEYS

MEGABYTE = 1_000_000
BOUNDS = VisitorLimits()
Port = Annotated[int, typer.Option(min=0, max=65535)]
Positive = Annotated[int, typer.Option(min=1)]


@app.command()
def serve(
    source: TextOrNone = None,
    port: Port = 5006,
    address: str = "127.0.0.1",
    allow: Texts = None,
    origin: Texts = None,
    prefix: str = "",
    upload: Annotated[float, typer.Option(min=0)] = 50,
    sessions: Positive = BOUNDS.sessions,
    openings: Positive = BOUNDS.openings,
    waiting: Natural = BOUNDS.waiting,
    seconds: Annotated[float, typer.Option(min=0.1)] = BOUNDS.seconds,
    memory: Annotated[float, typer.Option(min=1)] = BOUNDS.memory / MEGABYTE,
    concat_dim: str | None = None,
    no_browser: bool = False,
    as_json: AsJson = False,
) -> int:
    """Open the explorer of a set in the browser. Health check: /healthz."""
    from refexplorer.hosts.page.server import serve as serve_page
    from refexplorer.io.access import require_existing

    bounds = {"sessions": sessions, "openings": openings, "waiting": waiting}
    serve_page(
        None if source is None else open_set(source, concat_dim=concat_dim),
        port=port,
        address=address,
        open_browser=not no_browser,
        allow=require_existing(allow or []),
        origins=origin or [],
        prefix=prefix,
        largest_upload=int(upload * MEGABYTE),
        bounds=VisitorLimits(**bounds, seconds=seconds, memory=int(memory * MEGABYTE)),
        ready=_announcer(as_json),
    )
    return 0


@app.command()
def mcp(
    source: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]...")] = None,
    allow: Texts = None,
) -> int:
    """Serve sets to an AI assistant over stdin and stdout (MCP).

    MCP is the Model Context Protocol. Read-only: only the sets, their folders and the locations
    given with --allow are read.
    """
    from refexplorer.hosts.assistant import Assistant, serve

    sets = {each: open_set(each) for each in source or ()}
    serve(Assistant(sets, allow or (), asked_options() or None))
    return 0


@app.command()
def demo(port: Port = 0, no_browser: bool = False, as_json: AsJson = False) -> int:
    """Open the page with the example sets. It needs no network."""
    from refexplorer.hosts.page.server import serve as serve_page

    serve_page(port=port, open_browser=not no_browser, ready=_announcer(as_json))
    return 0


@app.command()
def page(
    source: str,
    output_file: Output = Path("report.html"),
    read: Texts = None,
    targets: bool = False,
    allow: Texts = None,
    keys: Positive = PAGE_KEYS,
    editor: bool = False,
    exercise: bool = False,
    as_json: AsJson = False,
) -> int:
    """Write the explorer of a set as one HTML file.

    The file opens from disk, and needs no Python and no network.
    """
    from refexplorer.hosts.saved_page import save_editor_page, save_exercise_page, save_page

    if exercise:
        from refexplorer.views.exercises.exercise_checks import exercise_at

        save_exercise_page(exercise_at(source), output_file)
        return _report_written(output_file, as_json, 0)
    refs = open_set(source)
    if editor:
        if refs.source.text is None:
            raise RefexplorerError(f"{refs.source.name} has no JSON text for the editor.")
        with output.print_warnings():
            save_editor_page(refs.source.text, output_file, refs.source.name)
        return _report_written(output_file, as_json, status_of(refs))
    recording = output.counting(f"Recording {refs.source.name}")
    with output.print_warnings(), naming_missing(refs), recording as count:
        save_page(
            refs.allowing(*allow or ()),
            output_file,
            read=read or (),
            check_targets=targets,
            keys=keys,
            report=count,
        )
    return _report_written(output_file, as_json, status_of(refs))


def _report_written(written: Path, as_json: bool, status: int) -> int:
    """Print what was written; return the exit status."""
    size = written.stat().st_size
    text = f"Wrote {written}, {size_text(size)}."
    output.write_answer(text, {"path": str(written), "bytes": size}, as_json)
    return status


_HOW_TO_STOP = "(press Ctrl+C to stop)"


def _announcer(as_json: bool) -> Callable[[str], None]:
    """Return a function that prints the URL; flushed at once, since the page keeps running."""

    def announce(url: str) -> None:
        # unmasked: the secret in it identifies the owner to the page
        line = json.dumps({"url": url}) if as_json else f"refexplorer is at {url} {_HOW_TO_STOP}"
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    return announce
