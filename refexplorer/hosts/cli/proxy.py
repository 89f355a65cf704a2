"""The page behind jupyter-server-proxy, which finds `setup` by its entry point.

It is next to the commands, since `refexplorer.hosts.page` would load Panel, which adds a second to
each start of Jupyter.
"""

from __future__ import annotations

import sys
from typing import Any

START_SECONDS = 60
"""jupyter-server-proxy waits five seconds, but importing Panel takes longer on a busy hub."""


def setup() -> dict[str, Any]:
    """Return how JupyterLab starts the page; Jupyter has authenticated each request."""
    # Jupyter has authenticated each request, so the page accepts them all; it listens on this
    # machine only, and offers the contents of the folder that Jupyter serves.
    return {
        "command": [
            sys.executable, "-m", "refexplorer", "serve",
            "--no-browser", "--port", "{port}", "--allow", ".",
        ],
        "timeout": START_SECONDS,
        "request_headers_override": {"Origin": "http://localhost:{port}"},
        "launcher_entry": {"title": "refexplorer"},
    }  # fmt: skip
