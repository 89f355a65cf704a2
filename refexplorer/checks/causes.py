"""The causes by which a set differs from its files: a code, how grave it is, and its sentence."""

from __future__ import annotations

from typing import NamedTuple

from refexplorer.spec.core.catalogue import Severity


class Cause(NamedTuple):
    """One way to differ.

    Attributes
    ----------
    severity
        An error gives wrong values or coordinates; a warning is odd, but read as the file has it.
    what
        What is said of files: "3 of 12,000 files …".
    of_chunks
        Whether it is said of single references, else of an array's metadata.
    """

    severity: Severity
    what: str
    of_chunks: bool = False


_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

CAUSES: dict[str, Cause] = {
    "offset": Cause(_ERROR, "have no chunk that starts where references say", True),
    "length": Cause(_ERROR, "have chunks of another length than references say", True),
    "other-array": Cause(_ERROR, "have another array where references point to", True),
    "misplaced": Cause(_ERROR, "have referenced chunks at another place", True),
    "twice": Cause(_ERROR, "have chunks that several keys of the array refer to", True),
    "filter-mask": Cause(_ERROR, "leave filters out for chunks that the set decodes by all", True),
    "values": Cause(_ERROR, "have other values than chunks that were read through the set", True),
    "unreadable": Cause(_ERROR, "have chunks that cannot be read through the set", True),
    "undecodable-inline": Cause(_ERROR, "have chunks that cannot be decoded", True),
    "masked": Cause(_WARNING, "have values that xarray masks in the set by its fill value", True),
    "no-reference": Cause(_ERROR, "have chunks that the set has no reference for", True),
    "lacking-object": Cause(_ERROR, "have values of it that the set has no reference for"),
    "unreachable": Cause(_ERROR, "cannot be read"),
    "damaged-file": Cause(_ERROR, "are damaged"),
    "changed": Cause(_ERROR, "have changed since references to them were written"),
    "dtype": Cause(_ERROR, "have another data type"),
    "byte-order": Cause(_ERROR, "have another byte order"),
    "rank": Cause(_ERROR, "have another number of dimensions"),
    "shape": Cause(_ERROR, "have another shape"),
    "ragged": Cause(_ERROR, "end inside a chunk before the array does"),
    "chunk-shape": Cause(_ERROR, "have another chunk shape"),
    "order": Cause(_ERROR, "lay the values of a chunk out in another order"),
    "filters": Cause(_ERROR, "encode by other filters"),
    "fill_value": Cause(_ERROR, "fill missing chunks with another value"),
    "_FillValue": Cause(_ERROR, "mark missing values differently"),
    "missing_value": Cause(_ERROR, "mark missing values differently"),
    "scale_factor": Cause(_ERROR, "use a different packing"),
    "add_offset": Cause(_ERROR, "use a different packing"),
    "_Unsigned": Cause(_ERROR, "differ in whether integers are unsigned"),
    "units": Cause(_ERROR, "have other units"),
    "calendar": Cause(_ERROR, "have another calendar"),
    "dimensions": Cause(_ERROR, "name the dimensions differently"),
    "held-values": Cause(_ERROR, "have other values than the set itself holds"),
    "same-coordinate": Cause(_ERROR, "have other values than the file that the set refers to"),
    "duplicates": Cause(_WARNING, "repeat values of the coordinate"),
    "not-monotonic": Cause(_WARNING, "are not in the order of the coordinate"),
    "no-references-at": Cause(_WARNING, "may be missing: no array has a reference at one place"),
    "left-out": Cause(_ERROR, "have objects that opening them left out"),
    "gap": Cause(_WARNING, "leave a gap in the coordinate"),
}
"""By code; metadata has the name of the field or attribute."""
