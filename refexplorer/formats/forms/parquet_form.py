"""Parquet stores: a folder with ``.zmetadata``, or that file itself."""

from __future__ import annotations

from refexplorer.formats.forms.form import File, Folder, Form, Terms
from refexplorer.formats.source import ZMETADATA, Source


class ParquetForm(Form):
    """The parquet layout of fsspec's `LazyReferenceMapper`."""

    name = "parquet"
    guarded = True

    def of_folder(self, folder: Folder, terms: Terms) -> Source | None:
        """Find a store; `refexplorer.formats.parquet.store` reads it."""
        if not folder.has(ZMETADATA):
            return None
        store = folder.filesystem(), folder.path
        return Source(folder.name, self.name, folder.parent, store=store)

    def of_file(self, file: File, terms: Terms) -> Source | None:
        """Find the store that a file of this name is of."""
        if file.local is None or file.local.name != ZMETADATA:
            return None
        return self.of_folder(Folder.at(file.local.parent, None, terms.files), terms)
