"""Data files by themselves: kerchunk and tifffile make references to one, where installed."""

from __future__ import annotations

from typing import Any

from refexplorer.errors import RefexplorerError, SourceError
from refexplorer.formats.forms.form import OpeningTerms, SourceFile, SourceForm
from refexplorer.formats.forms.other_files import PROBE, kind_of
from refexplorer.formats.making.makers import MAKERS
from refexplorer.formats.making.streams import RangeStream, WatchedStream
from refexplorer.formats.source import LeftOut, Source, cause
from refexplorer.markup import escape


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
            make = MAKERS.get(kind_of(stream.read(PROBE)) or "")
            if make is None:
                return None
            stream.seek(0)
            watched = WatchedStream(stream, file.size, terms.progress)
            if terms.progress is not None:
                terms.progress(0, file.size)
            try:
                made = make(watched, url, terms.files.guarded)
            except ImportError:
                return None  # what the file is, and what to install, is told after the last form
            except Exception as error:  # each library has errors of its own
                watched.raise_again()
                raise _failed(file.name, error) from None
            else:
                watched.raise_again()  # some libraries pass over what a read raises
            finally:
                watched.forget()
            fetched = stream.fetched if isinstance(stream, RangeStream) else None
        if terms.progress is not None:
            terms.progress(file.size, file.size)
        refs = {key: _plain(value) for key, value in made.get("refs", made).items()}
        place = url if file.local is None else None
        left_out = tuple(LeftOut(*each) for each in made.get("left_out", ()) if "refs" in made)
        return Source(
            file.name,
            self.name,
            file.location,
            value=refs,
            place=place,
            fetched=fetched,
            left_out=left_out,
        )


def _failed(name: str, error: Exception) -> RefexplorerError:
    return SourceError(
        f"{escape(name)} is a data file, and no references can be made to it: "
        f"{escape(cause(error), 300)}."
    )


def _plain(value: Any) -> Any:
    """Return a reference as V0 has it: kerchunk also gives bytes, tuples and numbers of numpy."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple):
        return [each if isinstance(each, str) else int(each) for each in value]
    return value
