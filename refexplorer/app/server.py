"""Serving the page."""

from __future__ import annotations

import os
import warnings
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path

import panel
from bokeh.server.server import Server
from bokeh.util.warnings import BokehUserWarning

from refexplorer.app.library import Library
from refexplorer.app.page import page
from refexplorer.errors import RefexplorerError
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.widgets.bundles import bundle_path


def serve(
    source: object = None,
    *,
    port: int = 0,
    address: str = "127.0.0.1",
    open_browser: bool = True,
    allow: Iterable[str] = (),
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the page until interrupted.

    Parameters
    ----------
    source
        What `open_references` takes, or a `ReferenceSet`; None begins with the choice of a set.
    port
        0 takes a free one.
    address
        Where to listen; only this machine by default.
    open_browser
        Whether to open the page in the default browser.
    allow
        Folders, hosts and buckets that may be read, such as ``["/data", "s3://bucket"]``.
    ready
        Called with the address of the page once it answers.

    Raises
    ------
    SourceError
        If the source cannot be read.
    RefexplorerError
        If the port is taken, or the front end is not built.
    """
    # BokehJS introduces a model that was added later once more, which is no news to Bokeh.
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    references, library = _prepared(source, allow)
    server = _listening(lambda: page(references, library), port, address)
    url = f"http://{_named(address)}:{server.port}/"
    server.start()
    if open_browser:
        server.io_loop.call_later(0, webbrowser.open, url)
    if ready is not None:
        server.io_loop.add_callback(ready, url)
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()


def _prepared(source: object, allow: Iterable[str]) -> tuple[ReferenceSet | None, Library]:
    """Open the source once for everybody, before anything listens."""
    for view in ("explorer", "editor", "page"):
        bundle_path(view)
    library = Library(allow)
    if source is None:
        return None, library
    references = source if isinstance(source, ReferenceSet) else open_references(source)
    if isinstance(source, str | os.PathLike) and Path(source).exists():
        library.sets = {references.source.name: str(Path(source).resolve()), **library.sets}
    return references, library


def _listening(make: Callable[[], panel.Template], port: int, address: str) -> Server:
    try:
        return panel.io.server.get_server(
            {"/": make},
            port=port,
            address=address,
            start=False,
            show=False,
            verbose=False,
        )
    except OSError as error:
        raise RefexplorerError(
            f"Port {port} at {address} cannot be used: {error.strerror or error}. "
            "Pick another one, or 0 for any that is free."
        ) from None


def _named(address: str) -> str:
    return f"[{address}]" if ":" in address else address
