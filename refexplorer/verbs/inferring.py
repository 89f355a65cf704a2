"""`infer`: the smallest V1 that is found for a set."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from refexplorer.core.files import Progress, write_blocks
from refexplorer.core.limits import check_expandable
from refexplorer.core.text import counted, escape, masks_repr, shown, size_text, table
from refexplorer.formats.columns.references import json_text
from refexplorer.formats.columns.table import Table
from refexplorer.formats.source import Source
from refexplorer.refset.inference.infer import as_it_is, infer_table
from refexplorer.refset.opened_set import internals
from refexplorer.refset.segments import table_of
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet

SHOWN = 10  # gen items in the text; `gen` has all
_CHARS = 200  # characters of a cell: a file may hold any text


_BLOCK = 2**20  # bytes that are read at a time to compare the written file


@masks_repr
@dataclass(frozen=True)
class Inference:
    """A document that expands to the same references as a set, and its savings.

    Attributes
    ----------
    name
        The name of the source.
    size_before, size_after
        Bytes of JSON: of the source (as V0 if it was not JSON), and of `document`.
    keys
        How many keys the set has.
    generated
        How many of them gen items generate; the others stay explicit.
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
        """The number of keys that are written out one by one."""
        return len(self._kept)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document: V1, or what was given where nothing shorter was found."""
        return json.loads(b"".join(self._blocks()))

    def explicit_keys(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return the written-out keys numbered `start` to `stop`."""
        return self._table.keys_at(self._kept[start:stop]).to_pylist()

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the document; an existing file is replaced when all is written."""
        write_blocks(Path(path), self._blocks())

    def __str__(self) -> str:
        lines = [f"{escape(self.name, _CHARS)}: {savings_text(self)}", parts_text(self)]
        lines += ["  " + "  ".join(map(escape, row)) for row in part_rows(self)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        sentence = f"<b>{shown(self.name, _CHARS)}</b>: {savings_text(self)}"
        rows = [[f"<code>{shown(cell, _CHARS)}</code>" for cell in row] for row in part_rows(self)]
        below = table(("Part", "Key or name", "URL"), rows) if rows else ""
        return f'<div class="refexplorer"><p>{sentence}<br>{parts_text(self)}</p>{below}</div>'


def infer(references: object, *, progress: Progress | None = None) -> Inference:
    """Find the smallest V1 for a set: templates, and gen items for regular numbers.

    Each gen item is expanded by the rules of the specification and compared with the set before it
    is used, so the document expands to exactly the same references. If chunks are missing, items
    cover boxes of existing chunks. No target is read.

    Parameters
    ----------
    references
        A `ReferenceSet`, or a source as `open_references` takes it.
    progress
        Called with the finished and the total amount of work; an exception stops the work.

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
    shortest = infer_table(table, progress=progress)
    plain = as_it_is(table)
    # a document as it was given; 0 if it was no JSON, or one of a list
    is_one = refs.source.part is None
    source_size = sum(map(len, _source_blocks(refs.source))) if is_one else 0
    before = source_size or plain.size
    as_given = shortest.size > before and (not source_size or _is_complete(refs))
    after = before if as_given else shortest.size
    facts = (refs.source.name, before, after, table.count)
    if as_given:
        blocks = partial(_source_blocks, refs.source) if source_size else plain.blocks
        return Inference(*facts, 0, {}, (), table, plain.kept, blocks)
    generated = table.count - len(shortest.kept)
    sections = (shortest.templates, shortest.gen)
    return Inference(*facts, generated, *sections, table, shortest.kept, shortest.blocks)


def _is_complete(refs: ReferenceSet) -> bool:
    """Return whether the document as given stands for the set: no template came at open time."""
    written = json.loads(b"".join(_source_blocks(refs.source))).get("templates")
    texts = {name: template.text for name, template in refs.templates.items()}
    return refs.source.form == "V0" or texts == (written or {})


def given_templates(refs: ReferenceSet) -> dict[str, str]:
    """Return the templates that were given when a set was opened, in place of the document's."""
    if refs.source.form != "V1":
        return {}
    document = json.loads(b"".join(_source_blocks(refs.source)) or b"{}")
    own = document.get("templates") or {}
    return {name: each.text for name, each in refs.templates.items() if own.get(name) != each.text}


def _source_blocks(source: Source) -> Iterator[bytes]:
    """Yield the bytes of a document as it was given."""
    if source.content is not None:
        with source.content() as stream:
            while block := stream.read(_BLOCK):
                yield block
    elif source.value is not None:
        with suppress(TypeError):  # bytes in a dict are no JSON
            yield json_text(source.value).encode("utf-8", "surrogatepass")


def savings_text(inference: Inference) -> str:
    """Compare the sizes."""
    saved = inference.size_before - inference.size_after
    if not saved:
        return f"no document shorter than {size_text(inference.size_before)} was found."
    share = 100 * saved / inference.size_before
    return (
        f"{size_text(inference.size_before)} before, {size_text(inference.size_after)} after, "
        f"{share:.{2 if share > 99 else 0}f} % less."
    )


def parts_text(inference: Inference) -> str:
    """Count what the document consists of."""
    generated = (
        f"{counted(len(inference.gen), 'gen item')} for {counted(inference.generated, 'key')}"
    )
    explicit = counted(inference.keys - inference.generated, "key")
    return f"{counted(len(inference.templates), 'template')}, {generated}, {explicit} written out."


def part_rows(inference: Inference) -> Iterator[tuple[str, str, str]]:
    """Yield the first gen items and templates: what it is, key or name, URL."""
    for number, item in enumerate(inference.gen[:SHOWN]):
        yield f"gen[{number}]", item["key"], item["url"]
    if len(inference.gen) > SHOWN:
        yield "gen", f"… {len(inference.gen) - SHOWN:,} more", ""
    for name in list(inference.templates)[:SHOWN]:
        yield "template", name, inference.templates[name]
    if len(inference.templates) > SHOWN:
        yield "template", f"… {len(inference.templates) - SHOWN:,} more", ""
