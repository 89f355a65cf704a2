from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.servers import RangeServer, range_server


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running
