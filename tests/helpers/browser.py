"""Find a Chromium; ``python -m tests.helpers.browser`` starts it once and prints which one."""

# ruff: noqa: T201

from __future__ import annotations

import os
import sys

from tests.helpers.installed import path_of

VARIABLE = "REFEXPLORER_BROWSER"
_COMMANDS = (
    "chromium-headless-shell",  # has no windows: two thirds of the processor time of the others
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
)  # fmt: skip
_PLACES = (
    "/opt/google/chrome/chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
)


def find() -> str | None:
    """Path of an installed browser, or None: playwright's own download is used then."""
    return path_of(VARIABLE, _COMMANDS, _PLACES)


def launch_options() -> dict[str, object]:
    """Arguments of playwright's ``launch``; no name but this machine's resolves in the browser."""
    arguments = [
        "--disable-gpu",
        "--process-per-site",  # pages of one context share compiled scripts: 0.9 s a page, else 2.3
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--no-sandbox")
    found = find()
    return {"args": arguments} | ({"executable_path": found} if found else {})


def main() -> int:
    """Start the browser; 0 if it does, else one sentence and 1."""
    from playwright.sync_api import Error, sync_playwright

    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(**launch_options())  # type: ignore[arg-type]
            print(f"{find() or 'Chromium of playwright'} ({browser.version})")
            browser.close()
    except Error as error:
        reason = str(error).strip().splitlines()[0]
        print(f"{find() or 'Chromium of playwright'} does not start: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
