"""`infer`: the smallest V1 that is found for a set."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from refexplorer.core.files import Progress
from refexplorer.core.masking import masks_repr
from refexplorer.core.text import counted, escape, shown, size_text, table
from refexplorer.core.writing import write_blocks
from refexplorer.formats.columns.references import json_text
from refexplorer.formats.columns.table import Table
from refexplorer.formats.source import Source
from refexplorer.refset.contents import internals
from refexplorer.refset.inference.infer import as_it_is, infer_table
from refexplorer.refset.opened_set import table_of
from refexplorer.spec.expansion import check_expandable
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet

SHOWN = 10  # gen items in the text; `gen` has all
_CHARS = 200  # characters of a cell: a file may hold any text


class ShownInference(Protocol):
    """The part of an inference that is shown; `Inference` has it all."""

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


_BLOCK = 2**20  # bytes that are read at a time to compare the written file


@masks_repr
@dataclass(frozen=True)
class Inference:
    """A document that expands to the same references as a set, and how it compares.

    Attributes
    ----------
    name
        What it was inferred from.
    size_before, size_after
        Bytes of JSON: of the source, or of its V0 where it was no JSON, and of `document`.
    keys
        How many keys the set has.
    generated
        How many of them gen items make; the others stay explicit.
    templates
        The templates that were found.
    gen
        The gen items that were found.
    """

    name: str
    size_before: int
    size_after: int
    keys: int
    generated: int
    templates: Mapping[str, str]
    gen: tuple[Mapping[str, Any], ...]
    _table: Table = field(repr=False)
    _kept: np.ndarray = field(repr=False)
    _blocks: Callable[[], Iterator[bytes]] = field(repr=False)

    @property
    def kept_explicit(self) -> int:
        """How many keys are written out one by one."""
        return len(self._kept)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document: V1, or what was given where nothing shorter was found."""
        found: dict[str, Any] = json.loads(b"".join(self._blocks()))
        return found

    def explicit_keys(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return the keys numbered `start` to `stop` of those that are written out."""
        keys: list[str] = self._table.keys_at(self._kept[start:stop]).to_pylist()
        return keys

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the document; an existing file is replaced when all is written."""
        write_blocks(Path(path), self._blocks())

    def __str__(self) -> str:
        return inference_text(self)

    def _repr_html_(self) -> str:
        return inference_html(self)


def infer(references: object, *, progress: Progress | None = None) -> Inference:
    """Find the smallest V1 for a set: templates, and gen items where numbers follow progressions.

    Each gen item is expanded by the rules of the specification and compared with the set before
    it is taken, so the document expands to exactly the same references. Where chunks are missing
    here and there, an item makes boxes of those that are there. No target is read.

    Parameters
    ----------
    references
        A `ReferenceSet`, or a source as `open_references` takes it.
    progress
        Called now and then with how much of the work is done, and how much there is; what it
        raises stops the work.

    Raises
    ------
    RefexplorerError
        If the source cannot be read.
    LimitError
        If there are more than `Limits.expanded_keys` keys.
    """
    refs = references if isinstance(references, ReferenceSet) else open_references(references)
    check_expandable(refs.count, refs.limits)
    table = table_of(internals(refs).opened.parts)
    found = infer_table(table, progress=progress)
    whole = as_it_is(table)
    given = _size(refs.source)
    before = given or whole.size
    as_given = found.size > before and (not given or _says_all(refs))
    after = before if as_given else found.size
    facts = (refs.source.name, before, after, table.count)
    if as_given:
        blocks = partial(_given, refs.source) if given else whole.blocks
        return Inference(*facts, 0, {}, (), table, whole.kept, blocks)
    generated = table.count - len(found.kept)
    sections = (found.templates, found.gen)
    return Inference(*facts, generated, *sections, table, found.kept, found.blocks)


def _size(source: Source) -> int:
    """Count the bytes of a document as it was given; 0 if it was no JSON, or one of a list."""
    return 0 if source.part is not None else sum(map(len, _given(source)))


def _says_all(refs: ReferenceSet) -> bool:
    """Say whether the document as given stands for the set: no template came at open time."""
    written = json.loads(b"".join(_given(refs.source))).get("templates")
    texts = {name: template.text for name, template in refs.templates.items()}
    return refs.source.form == "V0" or texts == (written or {})


def _given(source: Source) -> Iterator[bytes]:
    """Yield the bytes of a document as it was given."""
    if source.content is not None:
        with source.content() as stream:
            while block := stream.read(_BLOCK):
                yield block
    elif source.value is not None:
        with suppress(TypeError):  # bytes in a dict are no JSON
            yield json_text(source.value).encode("utf-8", "surrogatepass")
