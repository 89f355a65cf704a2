from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers import RangeServer, range_server


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


@pytest.fixture
def other_server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running
