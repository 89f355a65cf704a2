"""DMR++ documents, told by their namespace."""

from __future__ import annotations

from refexplorer.errors import SpecError
from refexplorer.formats.buffers.entries import EntriesBuilder
from refexplorer.formats.dmrpp.reading import add_dataset, is_dataset
from refexplorer.formats.dmrpp.xml import read_xml
from refexplorer.formats.forms.form import OpeningTerms, SourceFile, SourceForm, warn_of_left_out
from refexplorer.formats.forms.other_files import is_dmrpp
from refexplorer.formats.source import Source
from refexplorer.markup import escape


class DmrppForm(SourceForm):
    """References to the file that a DMR++ document describes, which lies beside it."""

    name = "DMR++"
    guarded = True

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        """Read a document."""
        if not is_dmrpp(file.head):
            return None
        terms.check_size(file.name, file.size)
        with file.content() as stream:
            root = read_xml(stream, file.name, terms.limits)
        if not is_dataset(root):
            raise SpecError(
                f"{escape(file.name)} is no DMR++ document: it begins with the element "
                f"{escape(root.name, 100)}, not with Dataset of DAP 4.",
                code="not-json",
            )
        builder = EntriesBuilder()
        left_out = add_dataset(builder, root)
        if left_out:
            warn_of_left_out(file.name, left_out)
        place = None if file.local is None else str(file.local.resolve())
        return Source(file.name, self.name, file.location, entries=builder.finish(), place=place)
