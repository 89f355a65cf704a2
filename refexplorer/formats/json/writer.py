"""Columns of references as JSON text, without a Python object for each of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refexplorer.formats.buffers.arrow import number_column, text_column, text_scalar

_ESCAPED = r'["\\\x00-\x1f\x7f]'


def json_text(value: object) -> str:
    """Write a value as JSON, compactly; text stays readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_column(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Write each text of a column as a JSON text."""
    quoted = joined('"', texts, '"')
    odd = pc.match_substring_regex(texts, _ESCAPED)
    if not pc.any(odd).as_py():
        return quoted
    escaped = [json_text(text) for text in texts.filter(odd).to_pylist()]
    return pc.replace_with_mask(quoted, odd, text_column(escaped))


def range_values(
    urls: Sequence[str], codes: np.ndarray, offsets: np.ndarray, lengths: np.ndarray
) -> pa.LargeStringArray:
    """Write byte ranges as ``["url",offset,length]``."""
    starts = text_column([f"[{url}," for url in urls]).take(number_column(codes))
    first, last = (number_column(numbers).cast(pa.large_string()) for numbers in (offsets, lengths))
    return joined(starts, first, ",", last, "]")


def members(keys: pa.LargeStringArray, values: pa.LargeStringArray) -> bytes:
    """Return the members of an object, between its braces."""
    if not len(keys):
        return b""
    lines = joined(json_column(keys), ":", values, ",")
    size = pc.sum(pc.binary_length(lines)).as_py()
    data: bytes = lines.buffers()[2][: size - 1].to_pybytes()
    return data


def joined(*parts: pa.LargeStringArray | str) -> pa.LargeStringArray:
    """Join columns and texts row by row."""
    columns = [text_scalar(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*columns, text_scalar(""))


def placed(
    count: int, parts: Sequence[tuple[np.ndarray, pa.LargeStringArray]]
) -> pa.LargeStringArray:
    """Put columns together whose texts belong into the rows given with each."""
    parts = [part for part in parts if len(part[0])]
    if len(parts) == 1:
        return parts[0][1]
    places = np.empty(count, np.int64)
    places[np.concatenate([rows for rows, _ in parts])] = np.arange(count)
    return pa.concat_arrays([texts for _, texts in parts]).take(number_column(places))
