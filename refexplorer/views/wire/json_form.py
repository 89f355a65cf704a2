"""Models as JSON, and JSON as models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from refexplorer.core.errors import RefexplorerError
from refexplorer.views.wire.messages import EXACT

_Model = TypeVar("_Model", bound=Struct)


def to_wire(value: Any) -> Any:
    """Return the JSON form of a model.

    Integers beyond 2^53 become text, since JSON readers round them; NaN and infinities become
    null; lone surrogates become escapes; a trailing underscore is not part of a name.
    """
    return _plain(msgspec.to_builtins(value, enc_hook=_builtin))


def from_wire(message: Mapping[str, Any], kind: type[_Model]) -> _Model:
    """Return a message as its model.

    Raises
    ------
    RefexplorerError
        If it is not as the model says; the text says where.
    """
    with suppress(msgspec.ValidationError):
        return msgspec.convert(_whole(message), kind)
    try:  # fractions are cut where whole numbers are wanted
        return msgspec.convert(_whole(message, is_cut=True), kind)
    except msgspec.ValidationError as error:
        tag = kind.__struct_config__.tag
        raise RefexplorerError(f"The request {tag!r} cannot be read: {error}.") from None


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if kind is int:
        return value if -EXACT <= value <= EXACT else str(value)
    if kind is dict:
        return {_plain(key): _plain(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_plain(item) for item in value]
    if kind is float:
        return value if math.isfinite(value) else None
    return value


def _builtin(value: object) -> object:
    """Return what a model holds in a type of numpy's, or of a library's, as Python's own."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise NotImplementedError


def _whole(value: Any, is_cut: bool = False) -> Any:
    """Return a message with whole numbers as such: JavaScript has one kind.

    It writes those of 22 digits and more as ``1e+21``.
    """
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if is_cut or value.is_integer() else value
    if isinstance(value, Mapping):
        return {key: _whole(item, is_cut) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item, is_cut) for item in value]
    return value
