"""Serve a folder with byte ranges: ``python -m tests.benchmarks.serving FOLDER``."""

from __future__ import annotations

import sys

from aiohttp import web


def main(folder: str) -> None:
    """Print the address, then serve until the process is ended."""
    application = web.Application()
    application.router.add_static("/", folder)
    web.run_app(
        application,
        host="127.0.0.1",
        port=0,
        print=lambda said: print(said.split()[3], flush=True),  # noqa: T201
        access_log=None,
    )


if __name__ == "__main__":
    main(sys.argv[1])
