"""Serve byte ranges: ``python -m tests.benchmarks.serving FOLDER [MILLISECONDS [CONNECTIONS]]``.

With milliseconds each answer waits so long, as one from far away does; with connections no more
than so many are answered at a time. ``/asked`` says how many requests for files there were, and how
many bytes of them were sent.
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web
from aiohttp.typedefs import Handler


def main(folder: str, latency: str = "0", connections: str = "100000") -> None:
    """Print the address, then serve until the process is ended."""
    asked = {"requests": 0, "bytes": 0}

    async def tell(_: web.Request) -> web.Response:
        return web.json_response(asked)

    admitted = asyncio.Semaphore(int(connections))

    @web.middleware
    async def wait(request: web.Request, handler: Handler) -> web.StreamResponse:
        async with admitted:
            await asyncio.sleep(float(latency) / 1000)
            return await handler(request)

    async def count(_: web.Request, response: web.StreamResponse) -> None:
        asked["requests"] += 1
        asked["bytes"] += response.content_length or 0

    application = web.Application(middlewares=[wait])
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
