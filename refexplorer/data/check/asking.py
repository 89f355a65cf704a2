"""Asking a store for one target, and what its answer is in words."""

from __future__ import annotations

from typing import NamedTuple

from refexplorer.data.fetch.facts import Facts
from refexplorer.data.fetch.failures import cause
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.errors import AccessError

NO_SIZE = "The store does not say how large it is."
NO_RANGES = "The server does not know byte ranges: every read begins at the start of the file."
_NO_NAME = "The set does not say which file this is: the reader has to be told."


class Answer(NamedTuple):
    """What a store says of a target.

    Attributes
    ----------
    facts
        None if there are none.
    message
        Why there are none, in a sentence.
    forbidden
        Whether it was not asked, since it is not allowed.
    grant
        What to pass in ``allow=`` so that it is asked.
    """

    facts: Facts | None
    message: str | None = None
    forbidden: bool = False
    grant: str | None = None


async def ask(targets: Targets, url: str | None) -> Answer:
    """Ask for size and version of a target; runs on fsspec's event loop.

    Parameters
    ----------
    targets
        Asks, if the target is allowed.
    url
        As in the references; None is the target that the reader names.
    """
    if url is None:
        return Answer(None, _NO_NAME)
    try:
        place = targets.policy.place(url)
        try:
            return Answer(await targets.facts(place))
        except AccessError:
            raise
        except Exception as error:  # each protocol has errors of its own
            words = cause(error, place)
            return Answer(None, f"{words[:1].upper()}{words[1:]}.")
    except AccessError as error:
        return Answer(None, str(error), forbidden=True, grant=error.grant or None)
