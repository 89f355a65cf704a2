"""GDAL's ``/vsikerchunk_json_ref/``: the rules of versions 3.11 to 3.12."""

from __future__ import annotations

from collections.abc import Mapping

from refexplorer.spec.dialects.judging import (
    ExplicitEntry,
    ReaderRules,
    Refusal,
    Theirs,
    VerdictTally,
    unknown,
)
from refexplorer.spec.dialects.survey import Link, Shape, Survey
from refexplorer.spec.dialects.verdicts import Basis

PROTOCOLS = ("s3", "gs", "http", "https", "file")
_NOT_RENDERED = "Without `templates` the braces of a URL stay as they are."
_LIST_OF_TWO = "A list of two is refused, or means a whole file, by how the text begins."
_REFUSED = {
    Shape.EMPTY_BASE64: "is base64 of nothing, which is taken for a failure",
    Shape.LONG_RANGE: "has a length of 4 GiB or more",
    Shape.FLOAT_RANGE: "has an offset or length that is written as a float",
    Shape.ODD_RANGE: "has an offset or length that is no whole number of 0 or more",
    Shape.ODD_LIST: "is a list of neither one nor three elements",
    Shape.OTHER: "is no text, object or list",
}


class Gdal(ReaderRules):
    """The rules of GDAL."""

    name = "GDAL"
    basis = Basis("GDAL 3.12.4", "2026-11-21", "seen")

    def open(self, survey: Survey, tally: VerdictTally) -> None:
        """Refuse ``templates`` and ``gen``, even empty ones."""
        written = survey.written
        if not survey.document.version:
            if ".zgroup" not in written and next(iter(written), "") != ".zattrs":
                raise Refusal("There is no `.zgroup`, by which it knows a V0 set.")
            return
        for name in ("templates", "gen"):
            if name in written:
                raise Refusal(f"`{name}` is not supported.")
        if not isinstance(written.get("refs"), Mapping):
            raise Refusal("There is no object `refs`.")

    def read(self, entry: ExplicitEntry, survey: Survey, tally: VerdictTally) -> Theirs:
        """Read text, objects and lists."""
        form = entry.form
        if form.shape is Shape.ODD_LIST and form.detail == 2:
            return unknown(_LIST_OF_TWO)
        if form.shape in _REFUSED:
            raise Refusal(f"`{entry.key}` {_REFUSED[form.shape]}.")
        if isinstance(entry.value, list | tuple):
            return self._read_list(entry, tally)
        if form.shape is Shape.BROKEN_BASE64 or form.shape is Shape.FOREIGN_BASE64:
            return unknown("Base64 that breaks the rules is decoded as far as it goes.")
        return Theirs(entry.ours if isinstance(entry.value, Mapping) else entry.value)

    def _read_list(self, entry: ExplicitEntry, tally: VerdictTally) -> Theirs:
        form = entry.form
        if form.link in (Link.NULL, Link.ODD):
            raise Refusal(f"The URL of `{entry.key}` is no text.")
        if form.shape is Shape.EMPTY_RANGE:
            return unknown("A length of 0 is taken for the whole file.")
        if form.link is Link.ABSOLUTE and form.text not in PROTOCOLS:
            tally.note(f"No data is read from {form.text}://, for which no file system is known.")
        return Theirs(entry.value, _NOT_RENDERED)

    def generate(self, survey: Survey, tally: VerdictTally) -> None:
        """There is no ``gen`` here: `open` refuses it."""
