"""What to do about findings that a repair leaves."""

from __future__ import annotations

from refexplorer.checks.causes import CAUSES

_SPLIT = (
    "One array has one {field} for all of its files: give the files that differ an array or a set "
    "of their own, or rewrite them"
)
_PACKING = (
    "One array has one {field} for all of its files: give the files that are packed differently "
    "an array or a set of their own and join them after decoding, or rewrite them"
)
_PACKING_FIELDS = (
    "scale_factor", "add_offset", "_FillValue", "missing_value", "fill_value", "_Unsigned",
    "units", "calendar",
)  # fmt: skip
_SPLIT_FIELDS = {
    "dtype": "data type",
    "byte-order": "byte order",
    "chunk-shape": "chunk shape",
    "order": "order of values",
    "filters": "pipeline of codecs",
    "dimensions": "order of dimensions",
}
_REMEDIES = {
    **{name: _PACKING.format(field=name) for name in _PACKING_FIELDS},
    **{name: _SPLIT.format(field=field) for name, field in _SPLIT_FIELDS.items()},
    "changed": (
        "Icechunk reads no chunk of a file of another version than it recorded: rebuild the "
        "references, or restore the file"
    ),
    "rank": "An array of that file has more dimensions: rebuild the set from the files",
    "shape": (
        "Nothing else in the set says which length is right: look for files that are missing or "
        "too many, and rebuild the set"
    ),
    "ragged": (
        "A file that ends inside a chunk can only be the last one along that dimension: split the "
        "set there, or rewrite the file"
    ),
    "filter-mask": "Zarr applies the same codecs to every chunk: rewrite the file",
    "twice": "Several keys refer to one chunk: rebuild the set from the files",
    "held-values": (
        "The set holds these values itself: rebuild them from the files, or have the set refer "
        "to them (an inline threshold of 0)"
    ),
    "same-coordinate": (
        "One array has one coordinate for all files: remove the files with another one"
    ),
    "values": "Ranges and metadata are those of the file: report the codecs and the file",
    "left-out": "No reference can say where its values are: read it with the library of its format",
    "unreadable": "The chunk itself cannot be decoded: look at its file",
    "unreachable": "Restore the file, pass its new address with --rename, or remove the references",
    "damaged-file": "Restore the file, and rebuild the references to it",
    "orphan-chunk": "Add the metadata of the array, or remove the keys",
}
_REBUILD = "Rebuild the references to these files with the tool that made the set"
"""Of all else: references whose place is not certain."""


def remedy(code: str) -> str:
    """Return what to do about a finding that is left, a sentence without a full stop."""
    explained = f"Correct the set: `refexplorer explain-code {code}` says how"
    return _REMEDIES.get(code, _REBUILD if code in CAUSES else explained)
