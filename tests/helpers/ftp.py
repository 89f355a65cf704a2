"""A real FTP server on this machine."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its event loop is one that Python has deprecated
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler
    from pyftpdlib.ioloop import IOLoop
    from pyftpdlib.servers import FTPServer


class RunningFtp:
    """Where the server is, and who logged in to it.

    Attributes
    ----------
    url
        ``"ftp://127.0.0.1:PORT"``.
    port
        Of it.
    users
        Those who logged in, in order.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"ftp://127.0.0.1:{port}"
        self.users: list[str] = []
        self.handlers: list[Any] = []

    def hang_up(self) -> None:
        """End the connections, as servers do with those that were not used for a while."""
        for handler in self.handlers:
            handler.ioloop.call_later(0, handler.close)


@contextmanager
def ftp_server(folder: Path, password: str | None = None) -> Iterator[RunningFtp]:
    """Serve a folder to everybody, or to the user ``me`` with a password."""
    authorizer = DummyAuthorizer()
    if password is None:
        authorizer.add_anonymous(str(folder))
    else:
        authorizer.add_user("me", password, str(folder))

    class Handler(FTPHandler):  # type: ignore[misc]
        auth_failed_timeout = 0

        def on_login(self, username: str) -> None:
            running.users.append(username)
            running.handlers.append(self)

    Handler.authorizer = authorizer
    server = FTPServer(("127.0.0.1", 0), Handler, ioloop=IOLoop())
    running = RunningFtp(server.address[1])
    closing = threading.Event()

    def serve() -> None:
        while not closing.is_set():
            server.ioloop.loop(timeout=0.01, blocking=False)
        server.close_all()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield running
    finally:
        closing.set()
        thread.join()
