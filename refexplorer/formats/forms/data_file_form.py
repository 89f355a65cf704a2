"""Data files opened directly: references are made to what is in one."""

from __future__ import annotations

from refexplorer.formats.datafiles.confined_references import DataFileSource, made_references
from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.formats.datafiles.streams import RangeStream
from refexplorer.formats.forms.form import OpeningTerms, SourceFile, SourceForm, warn_of_left_out
from refexplorer.formats.forms.other_files import PROBE, kind_of
from refexplorer.formats.source import LeftOut, Source


class DataFileForm(SourceForm):
    """HDF5 and NetCDF4, NetCDF3, GRIB2, FITS and TIFF.

    No chunk is read, only metadata; of GRIB each message, whose metadata are all over it.
    """

    name = "data file"
    guarded = True

    def of_file(self, file: SourceFile, terms: OpeningTerms) -> Source | None:
        """Make references to a file that is not compressed, in a folder or on a server."""
        url = file.url if file.local is None else str(file.local.resolve())
        if url is None:
            return None
        with file.open() as stream:
            kind = kind_of(stream.read(PROBE))
            if kind is None:
                return None
            stream.seek(0)
            if terms.progress is not None:
                terms.progress(0, file.size)
            path = None if file.local is None or terms.files.guarded else url
            given = DataFileSource(file.name, kind, url, path, stream, file.size)
            try:
                made = made_references(given, terms.progress)
            except ImportError:
                return None  # what the file is, and what to install, is told after the last form
            fetched = stream.fetched if isinstance(stream, RangeStream) else None
        if terms.progress is not None:
            terms.progress(file.size, file.size)
        place = url if file.local is None else None
        if made.left_out:
            warn_of_left_out(file.name, made.left_out)
        return Source(
            file.name,
            self.name,
            file.location,
            entries=made.entries,
            place=place,
            fetched=fetched,
            beyond=made.beyond,
            left_out=tuple(_left_out(name, why) for name, why in made.left_out.items()),
        )


def _left_out(name: str, why: Unread) -> LeftOut:
    place, _, attribute = name.partition(" (attribute ")
    if attribute:
        return LeftOut(f"{place}@{attribute.rstrip(')')}", "attribute", why.sentence)
    said = why.sentence.rstrip(".")
    reason = f"i{said[1:]}" if said.startswith(("Its ", "It ")) else said
    return LeftOut(name, "object", reason)
