"""Output of commands: tables on a terminal, tab-separated text in a pipe, JSON on demand.

Text from a file is escaped on output, URLs are written without secrets except by `expand`, and
everything is written immediately. Terminal features are in `refexplorer.hosts.cli.terminal`, loaded
only if there is a terminal: importing rich is slow.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain, islice
from typing import Any, TypeVar

from refexplorer.core.errors import LeftOutWarning, RefexplorerError, SecretsWarning
from refexplorer.core.text import KEYS, escape, masked, masked_text

_ALLOWING = re.compile(r'refs\.allowing\(((?:"[^"]*"(?:, )?)+)\)(?: or allow=\["[^"]*"\])?')
"""The Python advice to allow a location, in messages of the access policy and reports."""
_OPTIONS = re.compile(r'storage_options=\{"([^"]+)": \{((?:[^{}]|\{[^{}]*\})*)\}\}')
"""The Python advice to pass credentials, in messages of file systems."""
Item = TypeVar("Item")
Counter = Callable[..., None]
"""Called with the amount done, the total, and optionally a sentence on the current step."""


class WrittenError(RefexplorerError):
    """An error that is reported at the end of a document already begun."""


def is_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout.isatty()


def say(sentence: str) -> None:
    """Print a message for the user on stderr, separate from the result."""
    sys.stderr.write(f"{shown_text(sentence)}\n")


def shown_text(text: str) -> str:
    """Return text for a terminal, with command options in place of Python advice."""
    return escape(options_text(text))


def options_text(text: str) -> str:
    """Return text in which Python advice is replaced by command-line options."""
    text = text.replace("refs.verify()", "`refexplorer verify`")
    text = _ALLOWING.sub(
        lambda advice: " ".join(
            f"--allow {shlex.quote(name)}" for name in re.findall(r'"([^"]*)"', advice[1])
        ),
        text,
    )
    return _OPTIONS.sub(
        lambda advice: " ".join(
            f"--storage-option {shlex.quote(f'{advice[1]}.{name}={value}')}"
            for name, value in re.findall(r'"(\w+)": (…|\{[^{}]*\})', advice[2])
        ),
        text,
    )


@contextmanager
def print_warnings() -> Iterator[None]:
    """Print each warning as one line, without its source location."""
    with warnings.catch_warnings(record=True) as caught:
        for category in (LeftOutWarning, SecretsWarning):
            warnings.simplefilter("always", category)
        try:
            yield
        finally:
            for warning in caught:
                say(str(warning.message))


def write_line(text: str = "") -> None:
    """Write one line of the result."""
    sys.stdout.write(f"{shown_text(text)}\n")


def write_text(answer: object) -> None:
    """Write a result as lines."""
    for line in str(answer).splitlines():
        write_line(line)


def write_rows(
    columns: Sequence[str], rows: Iterable[Sequence[object]], always: bool = False
) -> None:
    """Write a table; in a pipe, tab-separated lines, with a header only if `always`."""
    # Without column names there is no header on a terminal either.
    if is_terminal():
        from refexplorer.hosts.cli import terminal

        terminal.write_table(columns, rows)
        return
    for row in chain([columns] if always else [], rows):
        sys.stdout.write(f"{_joined(row)}\n")


def write_json(fields: Mapping[str, object], name: str, items: Iterable[object]) -> None:
    """Write fields and a list with one item per line; an error after the first item is a field."""
    # An error after the first item is written as a last field ``error``, so that earlier items are
    # not lost; an error before it writes nothing to stdout, and `write_failure` reports it.
    items = iter(items)
    first = list(islice(items, 1))
    head, end = _json(fields)[:-1], "\n]}\n" if first else "]}\n"
    sys.stdout.write(f'{head}{", " if fields else ""}"{name}": [')
    separator = "\n"
    try:
        for item in chain(first, items):
            sys.stdout.write(f"{separator}{_json(item)}")
            separator = ",\n"
    except RefexplorerError as error:
        end = f'\n], "error": {json.dumps(str(error))}}}\n'
        raise WrittenError(str(error)) from error
    finally:
        sys.stdout.write(end)


def write_failure(sentence: str) -> None:
    """Write the JSON document of a command without a result."""
    write_object({"schema": 1, "status": 2, "error": sentence}.items())


def write_object(members: Iterable[tuple[str, object]], is_data: bool = False) -> None:
    """Write one JSON object, one member per line; bytes are written unchanged."""
    sys.stdout.write("{")
    separator = "\n"
    for name, value in members:
        sys.stdout.write(f"{separator}{json.dumps(name)}: {_json(value, is_data)}")
        separator = ",\n"
    sys.stdout.write("\n}\n" if separator != "\n" else "}\n")


def write_answer(answer: object, fields: Mapping[str, object], as_json: bool) -> None:
    """Write a result as JSON or as lines; a string is one line."""
    if as_json:
        write_object(fields.items())
    elif isinstance(answer, str):
        write_line(answer)
    else:
        write_text(answer)


def counting(sentence: str, of_bytes: bool = False) -> AbstractContextManager[Counter]:
    """Show progress on a terminal, in bytes or items, as it is reported."""
    counter: AbstractContextManager[Counter] = nullcontext(lambda done, total, sentence=None: None)
    if terminal := _watched_terminal():
        counter = terminal.counting(sentence, of_bytes)
    return counter


def progress(items: Iterable[Item], total: int, sentence: str) -> Iterable[Item]:
    """Yield items and show on a terminal how many there were."""
    return terminal.progress(items, total, sentence) if (terminal := _watched_terminal()) else items


def at_most(items: Iterable[Item], limit: int | None) -> Iterator[Item]:
    """Yield at most the requested number of items."""
    return islice(items, None if limit is None else min(limit, sys.maxsize))


def cell(value: object) -> str:
    """Return a value as a table cell."""
    return "" if value is None else escape(str(value))


def _json(value: object, is_data: bool = False) -> str:
    return json.dumps(value if is_data else masked(value, KEYS))


def _joined(row: Sequence[object]) -> str:
    """Return a row as tab-separated cells; escaping is rarely needed."""
    cells = ["" if value is None else str(value) for value in row]
    is_plain = "".join(cells).isprintable()
    return masked_text("\t".join(cells if is_plain else map(escape, cells)))


def _watched_terminal() -> Any:
    """Return the progress display if stderr is a terminal; else None."""
    if not sys.stderr.isatty():
        return None
    from refexplorer.hosts.cli import terminal

    return terminal
