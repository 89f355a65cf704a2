"""The command line: exit status 0 no errors, 1 the set has errors, 2 unreadable or wrong usage.

The modules of `verbs` add their commands to `program`, `output` and `terminal` print, `proxy` lets
Jupyter start the page. Begin with `program`.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import pkgutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from refexplorer.core.errors import HarmError, RefexplorerError
from refexplorer.core.limits import is_out_of_memory, limit_arrow_pool, memory_message

if TYPE_CHECKING:
    from typer import BadParameter, Typer
    from typer.models import CommandInfo

INTERRUPTED = 130  # The exit status after Ctrl-C: 128 plus the number of the signal
_SIGNALS = ("SIGTERM", "SIGHUP")


UNREADABLE = 2  # exit status
HARMFUL = 1  # A set was not written, since readable chunks would be lost


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; an error is one sentence on stderr."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the calling program
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  as long as this runs
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    limit_arrow_pool()
    try:
        return _interruptible(list(sys.argv[1:] if arguments is None else arguments) or ["--help"])
    except (BrokenPipeError, SystemExit) as ended:
        if not _is_closed_pipe(ended):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _interruptible(arguments: list[str]) -> int:
    """Run a command; SIGTERM and SIGHUP end it like Ctrl-C, unless ignored as with `nohup`."""
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)  # a second one ends the process at once
        raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    numbers = [getattr(signal, name) for name in _SIGNALS if is_main and hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, interrupt)
    try:
        status = _run(arguments)
    except KeyboardInterrupt:  # while modules are loaded; later typer makes it a status
        status = INTERRUPTED
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
    return 128 + received[0] if received and status == INTERRUPTED else status


def _run(arguments: list[str]) -> int:
    _start_early(arguments[1:])
    with _gc_paused():  # modules are not garbage: looking through them was a tenth of the start
        from refexplorer.hosts.cli.output import WrittenError, write_failure
        from refexplorer.hosts.cli.program import usage_errors
    try:
        with _gc_paused():
            app = load_app(arguments[0])
        status = app(arguments, prog_name="refexplorer", standalone_mode=False)
        sys.stdout.flush()
        return int(status or 0)
    except usage_errors as error:
        return _refuse(_wrong_call(error))
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--json" in arguments and not isinstance(error, WrittenError):
            write_failure(_failure(error))
        _refuse(_failure(error))
        return HARMFUL if isinstance(error, HarmError) else UNREADABLE


def _failure(error: Exception) -> str:
    if isinstance(error, RefexplorerError):
        return str(error)
    if is_out_of_memory(error):
        return memory_message()
    if isinstance(error, OSError):
        place = error.filename or "The output"
        return f"{place} cannot be read or written: {error.strerror or error}."
    # a bug of ours: still no traceback for users
    return f"This should not happen: {type(error).__name__}: {error}."


@contextmanager
def _gc_paused() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _start_early(arguments: list[str]) -> None:
    """Start the process that reads a data file; it loads its modules concurrently."""
    from refexplorer.formats.datafiles import confined_references
    from refexplorer.formats.other_files import PROBE, kind_of

    for name in arguments:
        with suppress(OSError, ValueError):
            if not name.startswith("-") and Path(name).is_file():
                with Path(name).open("rb") as file:
                    kind = kind_of(file.read(PROBE))
                if kind is not None:
                    confined_references.start(kind)
                    return


def load_app(name: str = "") -> Typer:
    """Return all commands, or only the named one: reading all signatures takes long."""
    # Typer reads the signatures of all commands of an app, which takes longer than running `ls`.
    from refexplorer.hosts.cli import verbs
    from refexplorer.hosts.cli.program import EXAMPLES, app, declared, epilog

    for module in pkgutil.iter_modules(verbs.__path__):
        importlib.import_module(f"{verbs.__name__}.{module.name}")  # its commands join the others
    commands = [each for each in app.registered_commands if _name(each) == name]
    for command in commands or app.registered_commands:
        command.epilog = epilog(_name(command))
        assert command.callback is not None
        command.callback = declared(command.callback)
    places = {name: place for place, name in enumerate(EXAMPLES)}
    app.registered_commands.sort(key=lambda each: places.get(_name(each), len(places)))
    if commands:
        chosen = copy(app)
        chosen.registered_commands = commands
        return chosen
    return app


def _name(command: CommandInfo) -> str:
    assert command.callback is not None
    return command.callback.__name__.replace("_", "-")


def _is_closed_pipe(ended: BaseException) -> bool:
    """Return whether the reader of the pipe, such as `head`, has exited."""
    return isinstance(ended, BrokenPipeError) or isinstance(ended.__context__, BrokenPipeError)


def _wrong_call(error: BadParameter) -> str:
    message = error.format_message().rstrip(".")
    message = message.removeprefix("Invalid value: ").replace("Value error, ", "")
    command = "refexplorer" if error.ctx is None else error.ctx.command_path
    return f"{message}{' See' if message.endswith('?') else '; see'} `{command} --help`."


def _refuse(sentence: str) -> int:
    from refexplorer.hosts.cli.output import say

    say(f"refexplorer: {sentence}")
    return UNREADABLE
