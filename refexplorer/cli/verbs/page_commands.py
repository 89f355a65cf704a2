"""The commands that open the page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from refexplorer.cli import output
from refexplorer.cli.commands import AsJson, app, open_set
from refexplorer.limits import Bounds

MEGABYTE = 1_000_000
BOUNDS = Bounds()
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free port.")]
NoBrowser = Annotated[
    bool, typer.Option("--no-browser", help="Print the address, but open no browser.")
]


@app.command()
def serve(
    source: Annotated[
        str | None, typer.Argument(help="A set to open; the demo sets if omitted.")
    ] = None,
    port: Port = 5006,
    address: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 accepts other machines.")
    ] = "127.0.0.1",
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Allow a place to be read: a folder, s3://bucket, a host."),
    ] = None,
    origin: Annotated[
        list[str] | None, typer.Option(help="Host name of the page behind a proxy.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="URL path below which the page is served.")] = "",
    upload: Annotated[
        float, typer.Option(min=0, help="Maximum size of an uploaded file, in MB.")
    ] = 50,
    sessions: Annotated[
        int, typer.Option(min=1, help="Maximum number of people on the page at a time.")
    ] = BOUNDS.sessions,
    openings: Annotated[
        int, typer.Option(min=1, help="Maximum number of sets opened at a time.")
    ] = BOUNDS.openings,
    waiting: Annotated[
        int, typer.Option(min=0, help="Maximum number of sets waiting to be opened.")
    ] = BOUNDS.waiting,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Time that opening a set may take a visitor.")
    ] = BOUNDS.seconds,
    memory: Annotated[
        float, typer.Option(min=1, help="Memory that opening may take, in MB; not on Windows.")
    ] = BOUNDS.memory / MEGABYTE,
    no_browser: NoBrowser = False,
    as_json: AsJson = False,
) -> int:
    """Open the page on a set in the browser. To proxies /healthz answers."""
    from refexplorer.app import serve as serve_page

    serve_page(
        None if source is None else open_set(source),
        port=port,
        address=address,
        open_browser=not no_browser,
        allow=allow or [],
        origins=origin or [],
        prefix=prefix,
        largest_upload=int(upload * MEGABYTE),
        bounds=Bounds(
            sessions=sessions,
            openings=openings,
            waiting=waiting,
            seconds=seconds,
            memory=int(memory * MEGABYTE),
        ),
        ready=_announcer(as_json),
    )
    return 0


@app.command()
def demo(port: Port = 0, no_browser: NoBrowser = False, as_json: AsJson = False) -> int:
    """Open the page on the shipped sets. It needs no network."""
    from refexplorer.app import serve as serve_page

    serve_page(port=port, open_browser=not no_browser, ready=_announcer(as_json))
    return 0


def _announcer(as_json: bool) -> Callable[[str], None]:
    """Return a function that prints the address; a pipe gets it at once, since the page goes on."""

    def announce(url: str) -> None:
        if as_json:
            output.write_lines([{"url": url}])
        else:
            output.write_line(f"refexplorer is at {url} (press Ctrl+C to stop)")
        sys.stdout.flush()

    return announce
