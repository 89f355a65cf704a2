"""Programs that start as forks of an interpreter which has imported what they need.

Half a second of a processor each otherwise. They end as programs do, with the threads and the exit
status of an interpreter of their own; what a start itself has to do needs a real one.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

LOAD_PAGE = """
import refexplorer.hosts.page.server
from refexplorer.hosts.cli import load_app
load_app()
"""
LOAD_COMMANDS = """
import asyncio, fsspec.core, pydantic, typer
import refexplorer.verbs.opening, refexplorer.verbs.converting
from refexplorer.hosts.cli import load_app
load_app()
pydantic.TypeAdapter, pydantic.ConfigDict  # which are imported late, as all of it is
"""
COMMAND = "import sys; from refexplorer.hosts.cli import main; sys.exit(main())"
"""The command line as a program, whose arguments are those of the program."""
PATIENCE = 100
"""Seconds after which a program that hangs is ended, by SIGALRM."""
_fork = os.fork  # which what is loaded may take away
_OWN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Forked:
    """A program that was started, of which everything goes to the interpreter that forked it."""

    def __init__(self, interpreter: Interpreter, pid: int, written: tuple[Path, Path]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._interpreter = interpreter
        self._out, self._err = written

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def poll(self) -> int | None:
        """Return its exit status, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = self._interpreter.ask({"poll": self.pid})
        return self.returncode

    def communicate(self) -> tuple[str, str]:
        """Wait for its end; return what it wrote."""
        if self.returncode is None:
            self.returncode = self._interpreter.ask({"wait": self.pid})
        return self._out.read_text(), self._err.read_text()

    def line(self) -> str:
        """Wait for the first line that it writes, or its end."""
        while not (out := self._out.read_text()).count("\n") and self.poll() is None:
            time.sleep(0.02)
        return out.partition("\n")[0]


class Interpreter:
    """Forks programs of itself, several at a time if asked to."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._folder, self._number = process, folder, 0

    def start(
        self,
        code: str,
        *arguments: str | Path,
        cwd: Path | None = None,
        patience: int = PATIENCE,
    ) -> Forked:
        """Start Python with a code and arguments, as ``python -c`` does, for so many seconds."""
        self._number += 1
        out, err = (self._folder / f"{self._number}.{name}" for name in ("out", "err"))
        out.touch()
        err.touch()
        given = {
            "code": code,
            "arguments": [str(each) for each in arguments],
            "written": [str(out), str(err)],
            "cwd": str(cwd or Path.cwd()),
            "patience": patience,
        }
        pid: int = self.ask(given)
        return Forked(self, pid, (out, err))

    def ask(self, question: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def preloaded(load: str, *options: str) -> Iterator[Interpreter]:
    """Start an interpreter, with options of Python, that runs some code before it forks.

    Programs find the names that it makes.
    """
    command = [sys.executable, *options, "-m", __name__, load]
    with (
        TemporaryDirectory(prefix="programs-") as folder,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            preexec_fn=_heed,
        ) as process,
    ):
        yield Interpreter(process, Path(folder))


def _heed() -> None:
    """Have signals reach a program, also where tests run in the background or by nohup."""
    for number in _OWN:
        signal.signal(number, signal.SIG_DFL)


def _serve() -> dict[str, Any] | None:
    """Answer questions until there are none; in a fork return what is to be run."""
    running: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        answer: int | None
        if "code" in asked:
            sys.stdout.flush()
            answer = _fork()
            if not answer:
                return dict(asked)
            running.add(answer)
        else:
            pid = asked.get("wait") or asked["poll"]
            found, status = os.waitpid(pid, 0 if "wait" in asked else os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if found else None
            running -= {found}
        print(json.dumps(answer), flush=True)  # noqa: T201
    for pid in running:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return None


def _become(program: dict[str, Any]) -> None:
    """Give a fork the streams, the folder and the arguments of a program."""
    for number, name in enumerate((os.devnull, *program["written"])):
        opened = os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  the other has read ahead
    os.chdir(program["cwd"])
    sys.argv = ["-c", *program["arguments"]]
    signal.alarm(program["patience"])


if __name__ == "__main__":
    _names = {"__name__": "__main__"}
    exec(sys.argv[1], _names)
    gc.freeze()  # else the end of each goes through all of it, half of a second
    if (_program := _serve()) is not None:
        _become(_program)
        exec(_program["code"], _names)
