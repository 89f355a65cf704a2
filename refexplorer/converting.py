"""`convert`: a set in another form, with other targets, checked before it gets its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from refexplorer.data.places import resolve
from refexplorer.errors import RefexplorerError, SourceError
from refexplorer.formats.atomic import write_blocks, writing
from refexplorer.formats.parquet_writing import RECORD_SIZE
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.refset.array_metadata import arrays_of
from refexplorer.refset.blocks import BLOCK, concatenated, table_of, tables
from refexplorer.refset.differences.comparing import SAME, compare
from refexplorer.refset.inference.inferred import infer_table
from refexplorer.refset.inlining import Inlining, Outlining, empty_as_text
from refexplorer.refset.parquet_export import write_parquet
from refexplorer.refset.retargeting import Renames, retargeted
from refexplorer.refset.table import Table
from refexplorer.refset.writing import v0_blocks
from refexplorer.spec.expansion import check_expandable

FORMS = ("V0", "V1", "parquet")
_PARQUET = (".parq", ".parquet")

Watch = Callable[[Iterable[Table], int, str], Iterable[Table]]
"""Passes blocks on and shows how many of them there were, of how many, in which step."""


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """How a set is to be written.

    Attributes
    ----------
    form
        One of `FORMS`; None goes by the name of the output: ``.parq`` and ``.parquet`` are
        stores, all else is V0.
    renames
        Starts of URLs and what they become; the first rule that fits is applied.
    absolute
        Resolve relative URLs against the place of the source.
    relative
        Write URLs inside the folder of the output relative to it.
    inline
        Bytes up to which byte ranges are read and written into the set; 0 reads nothing.
    allow
        What may be read for it besides the folder of the source.
    outline
        A file to take the inline data of chunks out to.
    objects
        Write metadata as JSON objects, not as text that holds them.
    record_size
        Rows of a record file of a parquet store.
    overwrite
        Replace an output that is there.
    """

    form: str | None = None
    renames: Sequence[tuple[str, str]] = ()
    absolute: bool = False
    relative: bool = False
    inline: int = 0
    allow: Collection[str] = ()
    outline: str | os.PathLike[str] | None = None
    objects: bool = False
    record_size: int = RECORD_SIZE
    overwrite: bool = False
    watch: Watch = field(default=lambda blocks, total, sentence: blocks, repr=False)


def convert(source: object, output: str | os.PathLike[str], how: Conversion | None = None) -> int:
    """Write a set in another form or with other targets; return how many keys were written.

    What was written is opened and compared with the source before it gets its name, so that an
    output is either there and right, or not there.

    Parameters
    ----------
    source
        A `ReferenceSet`, or a source as `open_references` takes it.
    output
        The file, compressed if its name ends in ``.gz`` or ``.zst``, or the folder of a store.
    how
        What to do on the way; None changes the form only.

    Raises
    ------
    RefexplorerError
        If the output is there or is the source, the form has no place for a key, a rule fits no
        URL, or a target may not be read.
    """
    how = how or Conversion()
    refs = source if isinstance(source, ReferenceSet) else open_references(source)
    target = Path(output)
    check_expandable(refs.count, refs.limits)
    _check_output(refs, target, how)
    with ExitStack() as opened:
        return _Converter(refs, target, how, opened).run()


class _Converter:
    """One conversion: the steps from the blocks of the source to those of the output."""

    def __init__(
        self, refs: ReferenceSet, target: Path, how: Conversion, opened: ExitStack
    ) -> None:
        self._refs, self._target, self._how = refs, target, how
        self._renames = Renames(how.renames)
        self._urls: list[Callable[[str], str]] = [self._renames.apply]
        location = refs.source.location
        if how.absolute and location is not None:
            self._urls.append(partial(resolve, location=location))
        if how.relative:
            self._urls.append(partial(_relative, folder=_beside(target)))
        self._steps: list[Callable[[Table], Table]] = []
        if how.inline:
            files = refs.filesystem(allow=how.allow)
            self._steps.append(Inlining(how.inline, files.cat).apply)
        self._steps.append(lambda table: retargeted(table, self._urls))
        if form_of(target, how.form) == "parquet":
            self._steps.append(empty_as_text)
        if how.outline is not None:
            place = Path(how.outline)
            file = opened.enter_context(writing(place, as_it_is=True))
            url = _relative(str(place.resolve()), _beside(target))
            self._steps.append(Outlining(file, url).apply)
        self._keys = 0

    def run(self) -> int:
        """Write, and say how many keys."""
        how, target = self._how, self._target
        form = form_of(target, how.form)
        if form == "parquet":
            write_parquet(
                self._blocks("Writing"),
                arrays_of(self._refs.opened.table),
                target,
                how.record_size,
                check=self._check,
                overwrite=how.overwrite,
            )
        elif form == "V1":
            found = infer_table(concatenated(list(self._blocks("Reading"))), least=1)
            write_blocks(target, found.blocks(how.objects), self._check)
        else:
            write_blocks(target, v0_blocks(self._blocks("Writing"), how.objects), self._check)
        return self._keys

    def _blocks(self, step: str) -> Iterator[Table]:
        """Yield the references as they are to be written."""
        parts = self._refs.opened.parts
        total = sum(-(-part.count // BLOCK) for part in parts)
        for block in self._how.watch(tables(parts), total, step):
            for change in self._steps:
                block = change(block)
            yield block

    def _check(self, written: Path) -> None:
        """Hold what was written against what was to be written."""
        if self._renames.unused:
            start = next(iter(self._renames.unused))[0]
            raise RefexplorerError(f"No URL of {self._refs.source.name} starts with {start!r}.")
        found = open_references(written, limits=self._refs.limits)
        table, self._keys = table_of(found.opened.parts), 0
        for block in self._blocks("Checking"):
            _check_block(block, table, self._keys)
            self._keys += block.count
        if self._keys != table.count:
            raise _differs(f"it has {table.count:,} keys, not {self._keys:,}")


def _check_block(block: Table, table: Table, start: int) -> None:
    rows = np.arange(start, start + block.count)
    if not table.keys.slice(start, block.count).equals(block.keys):
        rows = table.index.find_many(block.keys)
        if rows.min(initial=0) < 0:
            raise _differs(f"`{block.key_at(int(rows.argmin()))}` is missing")
    changes = compare(block, table, np.stack([np.arange(block.count), rows])).changes
    if (changes != SAME).any():
        raise _differs(f"`{block.key_at(int((changes != SAME).argmax()))}` is another reference")


def _differs(what: str) -> RefexplorerError:
    return RefexplorerError(f"What was written does not read back: {what}; nothing was kept.")


def form_of(output: Path, form: str | None) -> str:
    """Return the form that an output is to have.

    Raises
    ------
    RefexplorerError
        If there is no such form.
    """
    if form is None:
        return "parquet" if output.suffix in _PARQUET else "V0"
    found = {name.lower(): name for name in FORMS}.get(form.lower())
    if found is None:
        raise RefexplorerError(f"There is no form {form!r}; write {', '.join(FORMS)}.")
    return found


def _check_output(refs: ReferenceSet, target: Path, how: Conversion) -> None:
    for place in (target, None if how.outline is None else Path(how.outline)):
        if place is None:
            continue
        if refs.source.location is not None and place.resolve() == _place_of(refs):
            raise SourceError(f"{str(place)!r} is the source; choose another name.")
        if place.exists() and not how.overwrite:
            raise SourceError(f"{str(place)!r} exists; choose another name or overwrite it.")


def _place_of(refs: ReferenceSet) -> Path:
    return Path(refs.source.location or "", refs.source.name).resolve()


def _beside(target: Path) -> str:
    return f"{target.resolve().parent}/"


def _relative(url: str, folder: str) -> str:
    """Return a URL relative to a folder, if it is inside."""
    for start in (f"file://{folder}", folder):
        if url.startswith(start):
            return url[len(start) :]
    return url
