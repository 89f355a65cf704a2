"""The Lab that the other tests use: the kernel is this Python, and Lab itself stays quiet."""

from __future__ import annotations

import sys

from playwright.sync_api import Page, expect

from tests.ui.hosts import Lab


def test_kernel_is_this_python(lab: Lab, page: Page) -> None:
    notebook = lab.open(page, "kernel", ["import sys; print(sys.executable)"])
    expect(notebook.output(0)).to_have_text(sys.executable)
