"""The part of a `ReferenceSet` that writes it out, with every template filled in."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path

from refexplorer.formats.files.atomic import write_blocks
from refexplorer.formats.parquet.writer import RECORD_SIZE
from refexplorer.reading import ReadableSet
from refexplorer.refset.chunks.array_metadata import arrays_of
from refexplorer.refset.opened.batches import tables
from refexplorer.refset.write.inlining import empty_as_text
from refexplorer.refset.write.json_members import v0_blocks
from refexplorer.refset.write.parquet_export import write_parquet
from refexplorer.spec.core.references import V0Value
from refexplorer.spec.document.expansion import check_expandable


class WritableSet(ReadableSet):
    """A reference set that can be written out; `ReferenceSet` is the one that people hold."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many keys there are."""

    def to_v0(self) -> dict[str, V0Value]:
        """Write the set out as V0: text, ``[url]`` or ``[url, offset, length]`` for each key.

        Raises
        ------
        LimitError
            If there are more than `Limits.expanded_keys` keys.
        """
        check_expandable(self.count, self.limits)
        return dict(self.opened.v0())

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the set to a file as V0 JSON; an existing file is replaced when all is written.

        A name that ends in ``.gz`` or ``.zst`` has it compressed.

        Raises
        ------
        RefexplorerError
            If the file cannot be written, or a key cannot be in V0.
        """
        check_expandable(self.count, self.limits)
        write_blocks(Path(path), v0_blocks(tables(self.opened.parts)))

    def to_parquet(self, path: str | os.PathLike[str], *, record_size: int = RECORD_SIZE) -> None:
        """Write the set as a parquet store.

        fsspec reads it to the same references, but finds no chunk of an array of Zarr v3, of one
        at the root, or of one whose indices have slashes between them; refexplorer does.

        Parameters
        ----------
        path
            The folder to make; it appears when all is written, and must not exist.
        record_size
            Rows of a record file.

        Raises
        ------
        RefexplorerError
            If the folder exists, or the layout has no place for a key of the set.

        Warns
        -----
        LeftOutWarning
            If the set has references of such an array.
        """
        check_expandable(self.count, self.limits)
        blocks = map(empty_as_text, tables(self.opened.parts))
        write_parquet(blocks, arrays_of(self.opened.table), Path(path), record_size)
