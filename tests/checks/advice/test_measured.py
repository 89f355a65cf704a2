"""What is predicted is what a server counts: requests and bytes, of each reader and access."""

from __future__ import annotations

import pytest

import refexplorer as rx
from tests.helpers.costly_sets import ACCESSES, costly_sets, prepared
from tests.helpers.servers import RangeServer

pytestmark = pytest.mark.server
SETS = tuple(costly_sets(""))
READERS = ("zarr", "refexplorer")
CASES = [
    (access, reader)
    for access, part in ACCESSES.items()
    for reader in (READERS[:1] if part is None else READERS)  # xarray opens with Zarr
]


def counted(server: RangeServer) -> tuple[int, int]:
    """Return how many requests came, and the bytes that they asked for."""
    spans = [span.removeprefix("bytes=").split("-") for span in server.spans if span]
    assert len(spans) == len(server.requests), "a whole file was asked for"
    return len(spans), sum(int(end) - int(start) + 1 for start, end in spans)


@pytest.mark.parametrize(("access", "reader"), CASES)
@pytest.mark.parametrize("layout", SETS)
def test_requests_and_bytes_are_those_that_a_server_counts(
    layout: str, access: str, reader: str, server: RangeServer
) -> None:
    costly = costly_sets(server.url)[layout]
    server.files |= costly.files
    part = ACCESSES[access]
    refs = rx.open_references(costly.refs)
    advice = refs.advise() if part is None else refs.advise({"x": part})
    assert server.requests == []
    further = [each for each in advice.accesses if each.name == "as given"]
    (cost,) = advice.opening if part is None else further
    (predicted,) = [each for each in cost.readers if each.reader == reader]
    prepared(reader, costly, server.url, part)()
    assert (predicted.requests, predicted.bytes) == counted(server)
    assert cost.files == len(set(server.requests))
