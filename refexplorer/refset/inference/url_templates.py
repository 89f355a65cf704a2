"""Common parts of URLs as templates: whole URLs that come often, folders, and common starts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from keyword import iskeyword
from string import ascii_letters, digits

from refexplorer.refset.inference.items import NAMES, literal
from refexplorer.spec.templates.template import is_template, rendered_plain

_TAKEN = {*NAMES, "self", "true", "false", "none", "loop", "do", "set", "call", "filter", "block"}
_LETTERS = "u" + ascii_letters.replace("u", "")
_DEFINITION = 6
"""Characters around the name and text of a template in the document."""
_BRACES = 4
LONGEST = 2_000
"""Characters of the text of a template: one may begin at each slash of a URL."""
MOST_RENDERED = 50_000
"""More distinct URLs keep their starts, since every reader would have to render each of them."""


@dataclass(frozen=True)
class Templates:
    """Templates, and how URLs are written with them.

    Attributes
    ----------
    texts
        The templates section: names and jinja-strs.
    names
        The name of the template that stands for a URL or for the start of one.
    """

    texts: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def write(self, url: str) -> str:
        """Return the jinja-str of a URL."""
        start = url if url in self.names else self.start_of(url)
        if not start:
            return _as_template(url)
        return f"{{{{{self.names[start]}}}}}{literal(url[len(start) :])}"

    def write_start(self, text: str) -> str:
        """Put a template into the place of the literal start of a jinja-str."""
        start = self.start_of(text.partition("{{")[0])
        return f"{{{{{self.names[start]}}}}}{text[len(start) :]}" if start else text

    def start_of(self, url: str) -> str:
        """Return the longest folder of a URL that has a template, or an empty text."""
        start = folder(url[:LONGEST])
        while start and start not in self.names:
            start = folder(start[:-1])
        return start

    def add(self, start: str, names: Iterator[str]) -> None:
        """Define a template."""
        self.names[start] = name = next(names)
        self.texts[name] = _as_template(start)


def _as_template(text: str) -> str:
    return literal(text) if is_template(text) or rendered_plain(text) != text else text


def folder(url: str) -> str:
    """Return a URL up to its last slash."""
    return url[: url.rfind("/") + 1]


def find_templates(urls: Sequence[str], uses: Sequence[int], heads: Iterable[str]) -> Templates:
    """Choose templates that make the document shorter.

    Parameters
    ----------
    urls, uses
        The distinct URLs, and how many references name each.
    heads
        Literal starts of the URLs of gen items.
    """
    found, names = Templates(), _names()
    left: Counter[str] = Counter()
    for url, used in sorted(zip(urls, uses, strict=True), key=lambda pair: -pair[1]):
        if _saves(url, used):
            found.add(url, names)
        elif len(urls) <= MOST_RENDERED:
            left[folder(url)] += used
    left.update(folder(head) for head in heads)
    rest = {start: used for start, used in left.items() if start and not _saves(start, used)}
    for start, used in left.most_common():
        if start and _saves(start, used):
            found.add(start, names)
    common = folder(os.path.commonprefix(list(rest)))  # noqa: RUF071  cut at a slash
    if common and common not in found.names and _saves(common, sum(rest.values())):
        found.add(common, names)
    return found


def _saves(text: str, used: int) -> bool:
    """Say whether a template of a name of two letters is shorter than the text in its places."""
    return len(text) <= LONGEST and used * (len(text) - _BRACES - 2) > len(text) + _DEFINITION + 2


def _names() -> Iterator[str]:
    """Yield names that a template can spell, short ones first."""
    for more in count():
        for letters in product(_LETTERS, *[ascii_letters + digits] * more):
            name = "".join(letters)
            if name not in _TAKEN and not iskeyword(name):
                yield name
