"""The guard itself: what it must catch, it catches."""

from __future__ import annotations

from playwright.sync_api import Browser

from tests.helpers.guard import Guard


def findings_of(browser: Browser, html: str) -> list[str]:
    context = browser.new_context()
    guard = Guard(context)
    page = context.new_page()
    page.set_content(html)
    page.wait_for_timeout(200)
    context.close()
    return guard.findings


def test_another_machine_is_caught(browser: Browser) -> None:
    found = findings_of(browser, '<img src="https://example.org/x.png">')
    assert found[0] == "asked another machine: https://example.org/x.png"


def test_errors_of_scripts_are_caught(browser: Browser) -> None:
    found = findings_of(browser, "<script>console.error('one'); nosuch()</script>")
    assert "console error: one" in found[0]
    assert "nosuch is not defined" in found[1]


def test_data_and_this_machine_are_fine(browser: Browser) -> None:
    assert findings_of(browser, '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">') == []
