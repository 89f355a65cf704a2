"""Every error that refexplorer raises, in one tree.

RefexplorerError
├── SourceError    the source cannot be read: missing, empty, not a reference set
│   └── SpecError  the source was read, but the specification refuses it as a whole
├── AccessError    a target may not be read until it is allowed by name
├── FetchError     a target was asked for bytes and did not give them
├── DecodeError    bytes came, but a codec or the metadata refuses them
├── LimitError     a limit of `refexplorer.core.limits.Limits` was reached
└── InternalError  refexplorer contradicts itself: a bug, never a property of the data
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from threading import RLock
from typing import Any

from refexplorer.core.text import masked_text, shorten


class PickledByFields:
    """A data class whose `cached_property` values are not pickled and are computed again."""

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: self.__dict__[each.name] for each in fields(self)}  # type: ignore[arg-type]


class PickledError(Exception):
    """An error that survives pickling even if its `__init__` has other parameters than ``args``."""

    # By default, Python calls the class with only ``args``, which fails if it takes more: a worker
    # then dies, or hangs, instead of reporting the error.

    def __reduce__(self) -> tuple[Any, ...]:
        return _error_again, (type(self), self.args, self.__dict__)


def _error_again(
    kind: type[PickledError], args: tuple[object, ...], state: dict[str, Any]
) -> PickledError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


_CHAIN = 100_000  # Characters of errors that are looked through


def cause_of(raised: BaseException, cause: BaseException) -> BaseException | None:
    """Return the cause for `raise … from`; None if it is the error itself or quotes a secret."""
    # distributed follows causes, endlessly for an error that is its own cause
    said = ""
    error: BaseException | None = cause
    while error is not None and len(said) < _CHAIN:
        said, error = f"{said} {error} {error!r}", error.__cause__ or error.__context__
    return None if raised is cause or masked_text(said) != said else cause


class RefexplorerError(PickledError):
    """Base class of all errors. The message is one sentence with the location and the remedy."""

    def __init__(self, message: str = "") -> None:
        super().__init__(shorten(masked_text(message)))


class SourceError(RefexplorerError):
    """The source of a reference set cannot be read."""


class SlowSourceError(SourceError):
    """The server of a source did not respond in time: no further requests are sent."""


class SpecError(SourceError):
    """The document is rejected as a whole.

    Attributes
    ----------
    code
        The diagnostic code, such as ``"bad-version"``.
    pointer
        JSON pointer (RFC 6901) to the position; ``""`` is the whole document.
    line, column
        Counted from 1, or None if no text was given.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "not-json",
        pointer: str = "",
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.pointer, self.line = code, pointer, line
        self.column = column


class AccessError(RefexplorerError):
    """A target is not allowed yet.

    Attributes
    ----------
    target
        The requested URL.
    grant
        What to pass to `ReferenceSet.allowing` to read it, such as ``"s3://bucket"``; may be empty.
    fact
        The message without the advice for Python, for views with a button.
    """

    def __init__(
        self, message: str, *, target: str, grant: str = "", fact: str | None = None
    ) -> None:
        super().__init__(message)
        self.target, self.grant = target, grant
        self.fact = masked_text(message if fact is None else fact)


class FetchError(RefexplorerError):
    """Bytes of a target could not be read; the text names URL, range and cause."""


class DecodeError(RefexplorerError):
    """Bytes were read, but a codec or the metadata of the array reject them."""


class HarmError(RefexplorerError):
    """Writing would lose or change readable data, so nothing was written."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user: the nearest one outside this package and xarray."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


_INSIDE = ("refexplorer.", "xarray.")


@contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore what another package warns of; one thread at a time, as the filters are shared."""
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_FILTERS = RLock()


class LeftOutWarning(UserWarning):
    """Readers will treat some keys of a set as missing, such as rejected ones."""


class SecretsWarning(UserWarning):
    """A written file contains URLs that give access to everybody who has them."""


class LimitError(RefexplorerError):
    """A limit was reached; the text names the limit, its value and the option that raises it."""


class InternalError(RefexplorerError):
    """Data contradicts itself, so nothing is returned: a bug of refexplorer.

    It exists because Zarr interprets `KeyError` and `FileNotFoundError` as "no such chunk" and
    continues with fill values, which would hide a bug behind values that look like data.
    """


class MissingError(RefexplorerError, KeyError):
    """A set has no such key or array; ``args[0]`` is its name."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(name)
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence
