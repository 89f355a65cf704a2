"""V0 and V1 documents: JSON text, plain or compressed, or what a JSON parser gave of it."""

from __future__ import annotations

from collections.abc import Mapping

from refexplorer.errors import SourceError
from refexplorer.formats.forms.form import HEAD, OpeningTerms, SourceFile, SourceForm
from refexplorer.formats.forms.other_files import refuse_other
from refexplorer.formats.source import JSON, Source

LARGE = HEAD
LONG = 2**16


class JsonForm(SourceForm):
    """A document, of which only its reading tells whether it is V0 or V1."""

    name = JSON
    guarded = True

    def of_object(self, given: object, terms: OpeningTerms) -> Source | None:
        """Take a mapping as it is."""
        return Source("dict", self.name, value=given) if isinstance(given, Mapping) else None

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        """Take any file; what is no JSON is told when the document is read."""
        refuse_other(file.name, file.head)
        terms.check_size(file.name, file.size)
        if not file.head.strip():
            raise SourceError(f"{file.name} is empty.")
        size = len(file.head)
        return Source(
            file.name,
            self.name,
            file.location,
            file.content,
            is_long=size >= LONG,
            is_large=size >= LARGE,
        )
