"""Serve a folder with byte ranges: ``python -m tests.benchmarks.serving FOLDER [MILLISECONDS]``.

With milliseconds each answer waits so long, as one from far away does. ``/asked`` says how many
requests for files there were, and how many bytes of them were sent.
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web


def main(folder: str, latency: str = "0") -> None:
    """Print the address, then serve until the process is ended."""
    asked = {"requests": 0, "bytes": 0}

    async def tell(_: web.Request) -> web.Response:
        return web.json_response(asked)

    async def count(_: web.Request, response: web.StreamResponse) -> None:
        await asyncio.sleep(float(latency) / 1000)
        asked["requests"] += 1
        asked["bytes"] += response.content_length or 0

    application = web.Application()
    application.router.add_get("/asked", tell)
    application.router.add_static("/", folder)
    application.on_response_prepare.append(count)
    web.run_app(
        application,
        host="127.0.0.1",
        port=0,
        print=lambda said: print(said.split()[3], flush=True),  # noqa: T201
        access_log=None,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
