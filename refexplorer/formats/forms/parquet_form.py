"""Parquet stores: a folder with ``.zmetadata``, or that file itself."""

from __future__ import annotations

from refexplorer.formats.forms.form import OpeningTerms, SourceFile, SourceFolder, SourceForm
from refexplorer.formats.forms.zarr_form import is_consolidated
from refexplorer.formats.source import ZMETADATA, Source


class ParquetForm(SourceForm):
    """The parquet layout of fsspec's `LazyReferenceMapper`."""

    name = "parquet"
    guarded = True

    def of_folder(self, folder: SourceFolder, terms: OpeningTerms) -> Source | None:
        """Find a store; `refexplorer.formats.parquet.store` reads it."""
        if not folder.has(ZMETADATA) or is_consolidated(folder):
            return None
        store = folder.filesystem(), folder.path
        return Source(folder.name, self.name, folder.parent, store=store)

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        """Find the store that a file of this name is of."""
        if file.local is None or file.local.name != ZMETADATA:
            return None
        return self.of_folder(SourceFolder.at(file.local.parent, None, terms.files), terms)
