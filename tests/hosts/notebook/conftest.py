from __future__ import annotations

from collections.abc import Iterator

import pytest

from refexplorer.hosts.notebook.editor import TemplateEditor
from refexplorer.hosts.notebook.widgets import ReferencesWidget
from tests.helpers.wire import sent_by


@pytest.fixture(autouse=True)
def widget_wire() -> Iterator[None]:
    """Fail a test in which a widget says what no model describes, also without a controller."""
    with (
        sent_by(ReferencesWidget, "send", "Explorer", lambda message, _=None: message) as one,
        sent_by(TemplateEditor, "send", "Editor", lambda message, _=None: message) as two,
    ):
        yield
    assert not [*one, *two]
