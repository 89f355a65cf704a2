"""Stores of fsspec whose URLs name a server in their own ways."""

from __future__ import annotations

from typing import Any

import pytest

from refexplorer.core.errors import AccessError, FetchError
from refexplorer.core.limits import Limits
from refexplorer.io.access import AccessPolicy, Options, parse
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.stores import RemoteReader
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.references import Range
from tests.helpers.servers import RangeServer

BODY = bytes(range(256)) * 8


def targets(*allow: str, options: dict[str, Any] | None = None) -> Targets:
    return Targets(AccessPolicy(None, allow), options, Limits())


def filesystem(url: str, options: dict[str, Any]) -> Any:
    reader = RemoteReader(AccessPolicy(None), Options(options, None))
    return wait_for(reader.filesystem(parse(url)))


def test_a_repository_is_a_place() -> None:
    policy = AccessPolicy(None, ["github://one:repo@main"])
    assert policy.place("github://one:repo@main/a/b.json").url
    for other in ("github://two:repo@main/a", "github://one:repo@dev/a"):
        with pytest.raises(AccessError):
            policy.place(other)
    with pytest.raises(FetchError, match="must name exactly one server"):
        filesystem("github://one:repo@main/a/b.json", {"github": {"org": "two"}})


def test_options_of_a_protocol_whose_urls_name_no_server_are_refused() -> None:
    """A notebook server is named by the options alone, whatever the URL says."""
    given = {"url": "http://127.0.0.1:1", "tok": "knows"}
    with pytest.raises(FetchError, match=r'storage_options=\{"jupyter://data": …\}'):
        filesystem("jupyter://data/f.bin", {"jupyter": given})
    assert filesystem("jupyter://data/f.bin", {"jupyter://data": given}).url.startswith(
        "http://127"
    )


def test_a_store_that_sends_readers_elsewhere_is_not_read(server: RangeServer) -> None:
    url = f"webhdfs://127.0.0.1:{server.port}"
    with pytest.raises(FetchError, match="WebHDFS is not supported"):
        targets(url).fetch("x/0", Range(f"{url}/d.bin", 10, 4))
    assert server.requests == []
