"""What to do about findings that new references and metadata do not mend."""

from __future__ import annotations

from refexplorer.checks.causes import CAUSES

_SPLIT = (
    "One array has one {field} for all of its files: give the files that differ an array or a set "
    "of their own, or write their values anew"
)
_PACKING = (
    "One array has one {field} for all of its files: give the files that pack otherwise an array "
    "or a set of their own and join them after decoding, or write their values anew"
)
_REMEDIES = {
    "scale_factor": _PACKING,
    "add_offset": _PACKING,
    "_FillValue": _PACKING,
    "missing_value": _PACKING,
    "fill_value": _PACKING,
    "_Unsigned": _PACKING,
    "units": _PACKING,
    "calendar": _PACKING,
    "changed": (
        "Icechunk reads no chunk of a file of another version than it recorded: write the "
        "references anew, or bring the file back as it was"
    ),
    "dtype": _SPLIT.format(field="data type"),
    "byte-order": _SPLIT.format(field="byte order"),
    "chunk-shape": _SPLIT.format(field="chunk shape"),
    "order": _SPLIT.format(field="order of values"),
    "filters": _SPLIT.format(field="pipeline of codecs"),
    "dimensions": _SPLIT.format(field="order of dimensions"),
    "rank": "An array of that file has more dimensions: make the set anew from the files",
    "shape": (
        "Nothing else in the set tells which length is right: look for files that are missing or "
        "too many, and make the set anew"
    ),
    "ragged": (
        "A file that ends inside a chunk can only be the last one along that dimension: split the "
        "set there, or write the file anew"
    ),
    "filter-mask": "No codec leaves filters out for single chunks: write the file anew",
    "twice": "Several keys refer to one chunk: make the set anew from the files",
    "held-values": (
        "The set holds these values itself: make them anew from the files, or have the set refer "
        "to them (an inline threshold of 0)"
    ),
    "same-coordinate": (
        "One array has one coordinate for all files: take out the files with another one"
    ),
    "values": "Ranges and metadata are those of the file: report the codecs and the file",
    "left-out": "No reference can say where its values are: read it with the library of its format",
    "unreadable": "The chunk itself cannot be decoded: look at its file",
}
_ANEW = "Make the references to these files anew, with the tool that made the set"
"""Of all else: references whose place could not be told."""


def remedy(cause: str) -> str:
    """Return what to do about a finding that is left, a sentence without a full stop."""
    assert cause in CAUSES
    return _REMEDIES.get(cause, _ANEW).format(field=cause)
