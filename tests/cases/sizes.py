"""Sets whose sizes are not known, or pass what 64 bits and float64 hold."""

from __future__ import annotations

import json
from typing import Any

from tests.helpers.sets import metadata

_ARRAY = "x/.zarray"
LONGEST = 2**62 - 1


def _generated(shape: tuple[int, ...], item: dict[str, Any]) -> dict[str, Any]:
    return {"version": 1, "refs": {_ARRAY: metadata(shape)}, "gen": [item]}


VARYING = _generated(
    (10**7,),
    {
        "key": "x/{{i}}",
        "url": "s3://bucket/f.nc",
        "offset": "{{i * 100}}",
        "length": "{{10 + i % 7}}",
        "dimensions": {"i": {"stop": 10**7}},
    },
)
"""Each length would have to be computed."""
VAST = _generated(
    (10**10, 10**10),
    {
        "key": "x/{{i}}.{{j}}",
        "url": "s3://bucket/f{{i}}.nc",
        "offset": "{{j * 100}}",
        "length": "100",
        "dimensions": {"i": {"stop": 10**10}, "j": {"stop": 10**10}},
    },
)
"""10^20 keys of 100 bytes."""
STEPS = _generated(
    (100,),
    {
        "key": "x/{{i}}",
        "url": "s3://bucket/f.nc",
        "offset": f"{{{{i * {2**55}}}}}",
        "length": str(LONGEST),
        "dimensions": {"i": {"stop": 100}},
    },
)
"""Lengths of a gen item whose sum passes 2^63."""
QUARTERS: dict[str, Any] = {
    _ARRAY: metadata((3,)),
    "x/0": ["g.nc", 0, LONGEST],
    "x/1": ["f.nc", 0, LONGEST],
    "x/2": ["f.nc", LONGEST - 10, LONGEST],
}
"""Three lengths whose sum does not fit into 64 bits."""
PAST: dict[str, Any] = {
    _ARRAY: metadata((4,)),
    "x/0": ["f.nc", LONGEST, 100],
    "x/1": ["g.nc", 2**70, 2**70],
    "x/2": ["f.nc", 5, LONGEST],
    "x/3": ["h.nc", 2**53 + 1, 7],
}
"""Numbers that are as large as may be, and larger in x/1."""
WHOLE: dict[str, Any] = {_ARRAY: metadata((3,)), "x/0": ["f.nc"], "x/1": ["g.nc", 0, 100]}
"""A whole file beside a range, and a chunk without a reference."""


def text(references: dict[str, Any]) -> str:
    """Return a set as a file has it."""
    return json.dumps(references)
