"""Stores of fsspec whose URLs name a server in their own ways."""

from __future__ import annotations

import json
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
    with pytest.raises(FetchError, match="do not name one server"):
        filesystem("github://one:repo@main/a/b.json", {"github": {"org": "two"}})


def test_options_of_a_protocol_whose_urls_name_no_server_are_refused() -> None:
    """A notebook server is named by the options alone, whatever the URL says."""
    given = {"url": "http://127.0.0.1:1", "tok": "knows"}
    with pytest.raises(FetchError, match=r'storage_options=\{"jupyter://data": …\}'):
        filesystem("jupyter://data/f.bin", {"jupyter": given})
    assert filesystem("jupyter://data/f.bin", {"jupyter://data": given}).url.startswith(
        "http://127"
    )


@pytest.fixture
def data_node(server: RangeServer, other_server: RangeServer) -> RangeServer:
    """Return the server to which the name node leads for four bytes of a file."""
    described = {"FileStatus": {"type": "FILE", "length": 14}}
    file, where = "/webhdfs/v1/d.bin", f"{other_server.url}/block"
    server.answers[f"{file}?op=GETFILESTATUS"] = 200, {}, json.dumps(described).encode()
    server.answers[f"{file}?offset=10&length=4&op=OPEN"] = 307, {"Location": where}, b""
    other_server.answers["/block"] = 200, {}, BODY[10:14]
    return other_server


def test_data_nodes_have_to_be_allowed(server: RangeServer, data_node: RangeServer) -> None:
    url = f"webhdfs://127.0.0.1:{server.port}"
    options = {"webhdfs": {"block_size": 4}}
    wanted = Range(f"{url}/d.bin", 10, 4)
    with pytest.raises(AccessError) as caught:
        targets(url, options=options).fetch("x/0", wanted)
    assert caught.value.grant == data_node.url
    assert data_node.requests == []
    reader = targets(url, data_node.url, options=options)
    assert reader.fetch("x/0", wanted) == BODY[10:14]
    data_node.answers["/block"] = 404, {}, b"none"
    with pytest.raises(FetchError, match="404"):
        targets(url, data_node.url, options=options).fetch("x/0", wanted)
    data_node.redirects["/block"] = "http://127.0.0.1:1/"
    with pytest.raises(FetchError, match=r"redirects to another one, which is not followed\.$"):
        targets(url, data_node.url, options=options).fetch("x/0", wanted)
    described = "/webhdfs/v1/d.bin?op=GETFILESTATUS"
    server.redirects[described], data_node.requests[:] = f"{data_node.url}/away", []
    with pytest.raises(FetchError, match=r"redirects to another one"):
        targets(url, options=options).fetch("x/0", wanted)
    assert data_node.requests == []
