from __future__ import annotations

from collections.abc import Iterator

import pytest

from refexplorer.hosts.page.page import Frame
from tests.helpers.wire import sent_by


@pytest.fixture(autouse=True)
def page_wire() -> Iterator[None]:
    """Fail a test in which the page says what no model describes."""
    with sent_by(Frame, "_send_msg", "Page", lambda sent: sent["message"]) as findings:
        yield
    assert not findings
