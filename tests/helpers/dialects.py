"""What other readers were seen to do with small changes of one set."""

from __future__ import annotations

import json
from typing import Any

from refexplorer.spec.dialects import Outcome

ARRAY = {
    "shape": [2, 2],
    "chunks": [1, 1],
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
    "order": "C",
    "zarr_format": 2,
    "fill_value": 0,
}
BASE: dict[str, Any] = {
    ".zgroup": '{"zarr_format": 2}',
    "x/.zarray": json.dumps(ARRAY),
    "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["a", "b"]}',
    "x/0.0": ["s3://b/f", 0, 4],
    "x/0.1": ["s3://b/f", 4, 4],
}
SAME, DIFFERENT, DROPPED, REFUSED = (
    Outcome.SAME,
    Outcome.DIFFERENT,
    Outcome.DROPPED,
    Outcome.REFUSED,
)
ITEM = {"key": "x/{{i}}.0", "url": "s3://b/f", "dimensions": {"i": [1]}}
OBSERVED = [  # with VirtualiZarr 2.5.1 and GDAL 3.12.4; Kerchunk.jl by its source
    ({}, {}, SAME, SAME, SAME),
    ({"x/.zarray": ARRAY}, {}, REFUSED, SAME, DIFFERENT),
    ({"x/.zarray": json.dumps({**ARRAY, "compressor": {"id": "zlib"}})}, {}, REFUSED, SAME, SAME),
    ({"x/.zattrs": "{}"}, {}, REFUSED, SAME, SAME),
    ({"x/0.0": "data"}, {}, REFUSED, SAME, SAME),
    ({"x/0.0": "base64:"}, {}, REFUSED, REFUSED, SAME),
    ({"x/0.0": "base64:!!BQAAAAYAAAA="}, {}, REFUSED, DIFFERENT, DIFFERENT),
    ({"x/0.0": [None, 0, 4]}, {}, REFUSED, REFUSED, DIFFERENT),
    ({"x/0.0": ["", 0, 4]}, {}, DROPPED, SAME, SAME),
    ({"x/0.0": ["d/f", 0, 4]}, {}, REFUSED, SAME, SAME),
    ({"x/0.0": ["/d/f", 0, 4]}, {}, SAME, SAME, SAME),
    ({"x/0.0": ["s3://b/f", 0, 0]}, {}, SAME, DIFFERENT, DIFFERENT),
    ({"x/0.0": ["s3://b/f", 0, 2**32]}, {}, SAME, REFUSED, SAME),
    ({"x/0.0": ["s3://b/f", 0.0, 4]}, {}, REFUSED, REFUSED, DIFFERENT),
    ({"x/0.0": ["s3://b/f", -1, 4]}, {}, REFUSED, REFUSED, DIFFERENT),
    ({"x/0.0": ["s3://b/f", 0]}, {}, REFUSED, DIFFERENT, DIFFERENT),
    ({"x/0.0": None}, {}, REFUSED, REFUSED, DIFFERENT),
    ({"x/5": ["s3://b/f", 0, 4]}, {}, REFUSED, SAME, SAME),
    ({"x/foo": ["s3://b/f", 0, 4]}, {}, REFUSED, SAME, SAME),
    ({"g/y/.zarray": json.dumps(ARRAY)}, {}, DROPPED, SAME, SAME),
    ({"w/0.0": ["s3://b/f", 0, 4]}, {}, DROPPED, SAME, SAME),
    ({"root": "data"}, {}, REFUSED, SAME, SAME),
    ({"x/0.0": ["{{u}}", 0, 4]}, {"templates": {"u": "s3://q"}}, REFUSED, REFUSED, SAME),
    ({"x/0.0": ["s3://{{u}}", 0, 4]}, {"templates": {"u": "q"}}, DIFFERENT, REFUSED, SAME),
    ({"x/0.0": ["s3://{{u~1}}", 0, 4]}, {"templates": {"u": "q"}}, DIFFERENT, REFUSED, DIFFERENT),
    ({"x/0.0": ["s3://{{1+1}}", 0, 4]}, {}, DIFFERENT, DIFFERENT, DIFFERENT),
    ({}, {"gen": [ITEM]}, DROPPED, REFUSED, REFUSED),
    ({}, {"gen": []}, SAME, REFUSED, REFUSED),
]
