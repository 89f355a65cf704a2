"""A local S3 server, and a client that fills it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import botocore.session
from moto.server import ThreadedMotoServer

KEYS = {"key": "who", "secret": "knows"}
"""Credentials that the server accepts, under fsspec's names."""


@contextmanager
def s3_server(region: str = "us-east-1") -> Iterator[tuple[str, Any]]:
    """Run a server; give its URL and a client."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    client: Any = botocore.session.Session().create_client(
        "s3",
        region_name=region,
        endpoint_url=url,
        aws_access_key_id=KEYS["key"],
        aws_secret_access_key=KEYS["secret"],
    )
    yield url, client
    client.close()
    server.stop()
