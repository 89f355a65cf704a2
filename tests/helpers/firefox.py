"""The installed Firefox, driven over WebDriver BiDi: Playwright drives only its own build."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from websocket import WebSocket, create_connection

from tests.helpers.installed import path_of

VARIABLE = "REFEXPLORER_FIREFOX"
_COMMANDS = ("firefox", "firefox-esr")
_PLACES = ("/Applications/Firefox.app/Contents/MacOS/firefox",)
_SECONDS = 60.0
_PREFERENCES = {
    # a proxy that nobody answers for: nothing but this machine is reached
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "app.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
}


def find() -> str | None:
    """Path of an installed Firefox, or None."""
    return path_of(VARIABLE, _COMMANDS, _PLACES)


class Firefox:
    """One tab of a running Firefox.

    Attributes
    ----------
    errors
        What pages wrote to the console as an error, and what no script caught.
    """

    def __init__(self, address: str) -> None:
        self._socket: WebSocket = create_connection(
            f"{address}/session", timeout=_SECONDS, suppress_origin=True
        )
        self._last = 0
        self.errors: list[str] = []
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded"])
        self._tab = self._ask("browsingContext.getTree")["contexts"][0]["context"]

    def close(self) -> None:
        """Disconnect from the browser."""
        self._socket.close()

    def go(self, url: str) -> None:
        """Open an address and wait until it is loaded."""
        self._ask("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def run(self, expression: str) -> Any:
        """Return what a JavaScript expression is, of simple types."""
        target = {"context": self._tab}
        asked = {"expression": expression, "target": target, "awaitPromise": True}
        found = self._ask("script.evaluate", **asked)
        assert found["type"] == "success", found["exceptionDetails"]["text"]
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        until = time.monotonic() + _SECONDS
        while not self.run(f"Boolean({expression})"):
            assert time.monotonic() < until, f"still false: {expression}"
            time.sleep(0.1)

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("method") == "log.entryAdded":
                entry = message["params"]
                self.errors += [entry["text"]] if entry["level"] == "error" else []
            if message.get("id") == self._last:
                assert message["type"] == "success", message
                result: dict[str, Any] = message["result"]
                return result


@contextmanager
def running_firefox(program: str, profile: Path) -> Iterator[Firefox]:
    """Start Firefox without a window, with a profile of its own."""
    profile.mkdir()
    lines = [f"user_pref({json.dumps(n)}, {json.dumps(v)});" for n, v in _PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines))
    command = [program, "--headless", "--no-remote", "--profile", str(profile)]
    said = profile / "said.txt"  # it says more than the buffer of a pipe holds
    with said.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--remote-debugging-port", "0", "about:blank"],
            stdout=file, stderr=file, env={**os.environ, "HOME": str(profile)},
        )  # fmt: skip
    try:
        with closing(Firefox(_address(said, process))) as firefox:
            yield firefox
    finally:
        process.terminate()
        process.wait(timeout=_SECONDS)


def _address(said: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait until Firefox prints its address."""
    while (found := re.search(r"BiDi listening on (\S+)\n", said.read_text())) is None:
        assert process.poll() is None, said.read_text()
        time.sleep(0.1)
    return found[1]
