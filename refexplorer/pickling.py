"""How objects travel to other processes: by what they were made of, not by what they computed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class PickledByFields:
    """A data class whose `cached_property` values stay behind and are computed anew.

    They are larger than the fields, and some hold closures or numbers of this process alone.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: self.__dict__[each.name] for each in fields(self)}  # type: ignore[arg-type]


class PickledError(Exception):
    """An error that comes through a pickle whatever its `__init__` takes.

    Python's own way calls the class with ``args`` alone, which fails for one that takes more: a
    worker then dies, or hangs, instead of telling what is wrong.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _error_again, (type(self), self.args, self.__dict__)


def _error_again(
    kind: type[PickledError], args: tuple[object, ...], state: dict[str, Any]
) -> PickledError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error
