from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.replaying import Replays, replaying


@pytest.fixture(scope="session")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replays]:
    with replaying(tmp_path_factory.mktemp("node")) as replays:
        yield replays
