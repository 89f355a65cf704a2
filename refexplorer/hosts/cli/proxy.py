"""The page behind jupyter-server-proxy, which finds `setup` by its entry point.

It is with the commands, since `refexplorer.hosts.page` would load Panel: a second of each start of
Jupyter.
"""

from __future__ import annotations

import sys
from typing import Any

START_SECONDS = 60
"""The five seconds of jupyter-server-proxy pass while Panel is imported on a busy hub."""


def setup() -> dict[str, Any]:
    """Return how JupyterLab starts the page, under ``/refexplorer/`` and from its launcher.

    Jupyter has checked who asks and from where, so that the page takes each request as its own;
    it listens to this machine only, and offers what is in the folder that Jupyter serves.
    """
    return {
        "command": [
            sys.executable, "-m", "refexplorer", "serve",
            "--no-browser", "--port", "{port}", "--allow", ".",
        ],
        "timeout": START_SECONDS,
        "request_headers_override": {"Origin": "http://localhost:{port}"},
        "launcher_entry": {"title": "refexplorer"},
    }  # fmt: skip
