"""An inference as text and static HTML: the sizes, and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from refexplorer.markup import counted, escape, shown, size_text, table

SHOWN = 10
_CHARS = 200


class ShownInference(Protocol):
    """The part of an inference that is shown; `refexplorer.inferring.Inference` has it all."""

    @property
    def name(self) -> str:
        """The name of the set that it was inferred from."""

    @property
    def size_before(self) -> int:
        """Bytes of the source."""

    @property
    def size_after(self) -> int:
        """Bytes of the document."""

    @property
    def keys(self) -> int:
        """Keys of the set."""

    @property
    def generated(self) -> int:
        """Keys that gen items make."""

    @property
    def templates(self) -> Mapping[str, str]:
        """The templates that were found."""

    @property
    def gen(self) -> tuple[Mapping[str, Any], ...]:
        """The gen items that were found."""


def inference_text(found: ShownInference) -> str:
    """Return an inference in lines."""
    lines = [f"{escape(found.name, _CHARS)}: {size_sentence(found)}", parts_sentence(found)]
    lines += ["  " + "  ".join(map(escape, row)) for row in part_rows(found)]
    return "\n".join(lines)


def inference_html(found: ShownInference) -> str:
    """Return an inference as a sentence and a table."""
    sentence = f"<b>{shown(found.name, _CHARS)}</b>: {size_sentence(found)}"
    rows = [[f"<code>{shown(cell, _CHARS)}</code>" for cell in row] for row in part_rows(found)]
    below = table(("Part", "Key or name", "URL"), rows) if rows else ""
    return f'<div class="refexplorer"><p>{sentence}<br>{parts_sentence(found)}</p>{below}</div>'


def size_sentence(found: ShownInference) -> str:
    """Compare the sizes."""
    saved = found.size_before - found.size_after
    if not saved:
        return f"no document shorter than {size_text(found.size_before)} was found."
    share = 100 * saved / found.size_before
    return (
        f"{size_text(found.size_before)} before, {size_text(found.size_after)} after, "
        f"{share:.{2 if share > 99 else 0}f} % less."
    )


def parts_sentence(found: ShownInference) -> str:
    """Count what the document consists of."""
    made = f"{counted(len(found.gen), 'gen item')} for {counted(found.generated, 'key')}"
    explicit = counted(found.keys - found.generated, "key")
    return f"{counted(len(found.templates), 'template')}, {made}, {explicit} written out."


def part_rows(found: ShownInference) -> Iterator[tuple[str, str, str]]:
    """Yield the first gen items and templates: what it is, key or name, URL."""
    for number, item in enumerate(found.gen[:SHOWN]):
        yield f"gen[{number}]", item["key"], item["url"]
    if len(found.gen) > SHOWN:
        yield "gen", f"… {len(found.gen) - SHOWN:,} more", ""
    for name in list(found.templates)[:SHOWN]:
        yield "template", name, found.templates[name]
    if len(found.templates) > SHOWN:
        yield "template", f"… {len(found.templates) - SHOWN:,} more", ""
