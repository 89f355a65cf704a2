"""Child processes that work one request at a time, and can be ended at any time.

A child runs a module that calls `serve` and responds to requests on its stdin until that ends. Both
sides write a line of JSON, followed by as many bytes as its ``"size"`` says.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from refexplorer.core.errors import RefexplorerError

Head = dict[str, Any]
OWN_MEMORY = 2**30  # Bytes that Python needs with numpy, pyarrow and a codec
STARTING = 60  # Seconds that a child has to start: imports are slow on a busy machine
POLL = 0.2  # Seconds between two checks of a working child
_NO_MEMORY = 90  # Exit status of a child whose memory was not enough
_START = (
    "import json, runpy, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
"""What a child runs: ``-m`` would import modules from the working directory first."""
_serving = False
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class LateError(Exception):
    """The child exceeded its time limit and was ended."""


class LostError(Exception):
    """The child ended unexpectedly: it took too much memory, or crashed."""

    status: int | None = None  # Its exit status, negative for a signal; None if it is not known

    def ending_text(self) -> str:
        """Return how the child ended, as the predicate of a sentence."""
        if self.status == _NO_MEMORY:
            return "took too much memory"
        if self.status is None or self.status >= 0:
            return "ended without an answer"
        name = signal.strsignal(-self.status) or f"signal {-self.status}"
        return f"crashed ({name.lower()})"


def _nothing(*_: object) -> None:
    """Do nothing."""


Hear = Callable[[Head], "bytes | None"]
"""Called with a message that the child sends before its response; returns the reply, if any."""


class Child:
    """A process that runs a module of this package."""

    def __init__(self, module: str, *arguments: str) -> None:
        # What it leaves there when it is ended goes with it.
        self.is_spent = False
        self._is_ready = False
        self._folder = TemporaryDirectory(prefix="refexplorer-", ignore_cleanup_errors=True)
        places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder.name)
        try:
            start = [sys.executable, "-P", "-c", _START, json.dumps(_search_path())]
            self._process = subprocess.Popen(
                [*start, module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | _ONE_THREAD | places,
            )
        except BaseException:
            self._folder.cleanup()
            raise

    def ask(
        self, head: Head, data: bytes, seconds: float,
        hear: Hear = _nothing, check: Callable[[], None] = _nothing,
    ) -> tuple[Head, bytes]:  # fmt: skip
        """Return the response to a request."""
        given, answers = self._process.stdin, self._process.stdout
        assert given is not None
        assert answers is not None
        with self._watched(seconds, check):
            with suppress(BrokenPipeError):
                _write(given, head, data)
            while "size" not in (said := self._next_line(answers)):
                if self._is_ready:
                    self._hear(given, hear, said)
                else:
                    self._is_ready, self._until = True, time.monotonic() + seconds
            found = answers.read(said["size"])
            if len(found) != said["size"]:
                raise LostError
        self.is_spent = bool(said.get("spent"))
        return said, found

    def _hear(self, given: IO[bytes], hear: Hear, said: Head) -> None:
        """Forward messages from the child, and replies to it."""
        left = self._until - time.monotonic()
        self._until = math.inf
        reply = hear(said)
        self._until = time.monotonic() + left
        if reply is not None:
            with suppress(BrokenPipeError):
                _write(given, {}, reply)

    def _next_line(self, answers: IO[bytes]) -> Head:
        line = answers.readline()
        if not line.endswith(b"\n"):
            raise LostError
        return json.loads(line)

    @contextmanager
    def _watched(self, seconds: float, check: Callable[[], None]) -> Iterator[None]:
        """End the child if it takes too long or nobody waits for it, and raise an error."""
        done = threading.Event()
        self._until = time.monotonic() + (seconds if self._is_ready else STARTING)
        why: list[Exception] = []

        def watch() -> None:
            while not done.wait(max(0, min(POLL, self._until - time.monotonic()))):
                try:
                    check()
                    if time.monotonic() >= self._until:
                        raise LateError
                except (RefexplorerError, LateError) as error:
                    why.append(error)
                    self._process.kill()
                    return

        watcher = threading.Thread(target=watch, name="refexplorer-child", daemon=True)
        watcher.start()
        lost: LostError | None = None
        try:
            yield
        except LostError as error:
            lost = error
            with suppress(subprocess.TimeoutExpired):
                lost.status = self._process.wait(1)
        finally:
            done.set()
            watcher.join()
        if why:  # also of one that answered just before it was ended
            raise why[0] from None
        if lost is not None:
            raise lost

    def kill(self) -> None:
        """End the process while another thread waits for its response."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and remove its files."""
        self._process.kill()
        with suppress(BrokenPipeError):
            self._process.communicate()
        self._process.wait()
        self._folder.cleanup()


class Children:
    """Processes of one module; idle ones are kept."""

    def __init__(self, module: str, most: int) -> None:
        self._module, self._most = module, most
        self._restart()
        if os.name == "posix":
            os.register_at_fork(after_in_child=self._restart)
        atexit.register(self.end)

    def _restart(self) -> None:
        """Leave all processes to the parent after a fork."""
        self._turns = threading.BoundedSemaphore(self._most)
        self._idle: list[Child] = []
        self._lent: set[Child] = set()

    def start(self, *arguments: str) -> None:
        """Start one process in advance."""
        if not self._idle:
            self._idle.append(Child(self._module, *arguments))

    @contextmanager
    def lend(self, *arguments: str) -> Iterator[Child]:
        """Yield an idle process; a failed one is not used again."""
        with self._turns:
            try:
                child = self._idle.pop()
            except IndexError:
                child = Child(self._module, *arguments)
            self._lent.add(child)
            try:
                yield child
            except BaseException:
                child.end()
                raise
            finally:
                self._lent.discard(child)
            if child.is_spent:
                child.end()
            else:
                self._idle.append(child)

    def end(self) -> None:
        """End all; pending requests raise `LostError`."""
        for child in [*self._lent]:
            child.kill()
        while self._idle:
            self._idle.pop().end()


class Answering:
    """The interface for a child's work to respond."""

    def __init__(self, answers: IO[bytes]) -> None:
        self._answers = answers

    def send(self, said: Head) -> None:
        """Send a message before the response."""
        self._answers.write(json.dumps(said).encode() + b"\n")
        self._answers.flush()

    def ask(self, said: Head) -> bytes:
        """Send a message that gets a reply, and return the reply."""
        self.send(said)
        size: int = json.loads(sys.stdin.buffer.readline())["size"]
        return sys.stdin.buffer.read(size)

    def answer(self, said: Head, data: bytes) -> None:
        """Send the response."""
        _write(self._answers, said, data)


def is_child() -> bool:
    """Return whether this process is a child itself."""
    return _serving


def has_processes() -> bool:
    """Return whether this platform can start a child: not a browser or an embedded Python."""
    return sys.platform not in ("emscripten", "wasi") and bool(sys.executable)


def _search_path() -> list[str]:
    """Return the module search path of a child: that of this process without the working folder."""
    own = str(Path(__file__).parents[2])
    found = [each for each in sys.path if each]
    return found if own in found else [*found, own]


def serve(work: Callable[[Head, bytes, Answering], None]) -> None:
    """Handle requests on stdin until it ends; end if out of memory."""
    global _serving
    _serving = True
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    Answering(answers).send({})  # it has started
    while line := sys.stdin.buffer.readline():
        head = json.loads(line)
        try:
            work(head, sys.stdin.buffer.read(head["size"]), Answering(answers))
        except MemoryError:
            os._exit(_NO_MEMORY)


def limit_memory(limit: int) -> None:
    """Limit the memory of this process from now on, in bytes; not supported on Windows."""
    if os.name != "posix":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


def _write(stream: IO[bytes], head: Head, data: bytes) -> None:
    stream.write(json.dumps(head | {"size": len(data)}).encode() + b"\n")
    stream.write(data)
    stream.flush()
