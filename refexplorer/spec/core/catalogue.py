"""Every diagnostic code: how severe it is, what it means, and the smallest set that shows it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """An error leaves something out; a warning keeps it; info is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Rule(NamedTuple):
    """A kind of finding; `example` is a JSON document, or a sentence where JSON cannot show it."""

    severity: Severity
    meaning: str
    example: str


def _error(meaning: str, example: str) -> Rule:
    return Rule(Severity.ERROR, meaning, example)


def _warning(meaning: str, example: str) -> Rule:
    return Rule(Severity.WARNING, meaning, example)


def _info(meaning: str, example: str) -> Rule:
    return Rule(Severity.INFO, meaning, example)


_ARRAY = (
    '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "%s", '
    '"compressor": null, "filters": null, "order": "C", "fill_value": %s}%s}'
)
_GEN = '{"version": 1, "gen": [{"key": "x/{{i}}", "url": "http://h/{{i}}", %s}]}'

DOCUMENT = {
    "not-json": _error("The text is not JSON.", "{'a': 'x'}"),
    "not-object": _error("The document is JSON, but not an object.", '["a"]'),
    "bad-version": _error(
        "`version` is present, but is not the number 1.", '{"version": 2, "refs": {}}'
    ),
    "bad-section": _error(
        "A section of V1 has the wrong JSON type.", '{"version": 1, "refs": ["a"]}'
    ),
    "version-missing": _warning(
        "The document looks like V1, but without `version` it is read as V0.",
        '{"refs": {"a": ["http://h/f"]}}',
    ),
    "unknown-top-level-key": _warning(
        "V1 keeps references in `refs`; other keys at the top level are ignored.",
        '{"version": 1, "a": "x"}',
    ),
    "duplicate-key": _warning(
        "A JSON object has the same key more than once; the last value is used.",
        '{"a": "one", "a": "two"}',
    ),
    "odd-encoding": _info(
        "The document begins with a byte order mark, or is not UTF-8: JSON between systems has to "
        "be UTF-8 without a mark (RFC 8259), and not every reader takes another.",
        "a document in UTF-16",
    ),
    "no-references": _info(
        "The document is a reference set without any reference.", '{"version": 1}'
    ),
    "readers-differ": _info(
        "A reader reads keys differently from the specification, or leaves them out, and says "
        "nothing of it; or one that reads all of the specification refuses the set.",
        '{"version": 1, "templates": {"u": "h"}, "refs": {"a": ["http://{{u|upper}}/f"]}}',
    ),
    "nonstandard-json-nan": _warning(
        "NaN and Infinity are not valid JSON, although Python writes them.",
        '{"x/.zattrs": {"missing": NaN}}',
    ),
}

REFERENCES = {
    "bad-ref-type": _error("A reference must be a string, an object or a list.", '{"a": 5}'),
    "bad-ref-shape": _error(
        "A list must be [url] or [url, offset, length].", '{"a": ["http://h/f", 1]}'
    ),
    "bad-url": _error(
        "The first element of a list, the URL, must be a string.", '{"a": [5, 0, 10]}'
    ),
    "bad-offset": _error(
        "An offset must be a non-negative integer, in bytes.", '{"a": ["http://h/f", -1, 10]}'
    ),
    "bad-length": _error(
        "A length must be a non-negative integer, in bytes.", '{"a": ["http://h/f", 0, -5]}'
    ),
    "bad-base64": _error(
        "The text after `base64:` cannot be decoded as base64.", '{"a": "base64:!!!!"}'
    ),
    "bad-text": _error(
        "The text contains an unpaired surrogate, which UTF-8 cannot encode.", '{"a": "\\ud800"}'
    ),
    "key-too-long": _error(
        "The key is longer than the limit, which no store accepts.",
        "a key of more than 65,536 bytes",
    ),
    "float-offset": _warning("An integer is written as a float.", '{"a": ["http://h/f", 10.0, 5]}'),
    "null-url": _info(
        "The URL is null: the target has to be named when the set is opened.",
        '{"a": [null, 10, 5]}',
    ),
    "empty-url": _warning("The URL is an empty string.", '{"a": ["", 0, 10]}'),
    "relative-url": _info(
        "The URL is relative; the specification does not say to what.",
        '{"a": ["data/file.nc", 0, 10]}',
    ),
    "chained-url": _warning(
        "fsspec does not follow chained URLs inside references.",
        '{"a": ["zip://in.nc::http://h/f.zip", 0, 10]}',
    ),
    "unportable-url": _info(
        "Readers do not all make the same of the URL: escapes, queries, dotted segments, letters "
        "that need escapes, upper case in the protocol.",
        '{"a": ["s3://b/f%20g.nc", 0, 10]}',
    ),
    "signed-url": _warning(
        "The URL has a signature, a token or a password, which expires and is a secret.",
        '{"a": ["https://h/f.nc?X-Amz-Signature=1a2b3c", 0, 10]}',
    ),
    "suspicious-characters": _warning(
        "Control or bidirectional characters can make a URL look like another one.",
        '{"a": ["http://\\u202ehost/f"]}',
    ),
    "mixed-protocols": _info(
        "The targets need more than one filesystem.",
        '{"a": ["s3://b/f"], "b": ["https://h/f"]}',
    ),
    "odd-url": _warning(
        "A URL differs by one letter from that of the other chunks of an array.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [4], "chunks": [1], "dtype": "<i4", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": null}, '
        '"x/0": ["s3://b/data.nc", 0, 4], "x/1": ["s3://b/data.nc", 4, 4], '
        '"x/2": ["s3://b/dats.nc", 8, 4], "x/3": ["s3://b/data.nc", 12, 4]}',
    ),
    "overlapping-ranges": _warning(
        "Two byte ranges of a target overlap without being identical.",
        '{"a": ["http://h/f", 0, 10], "b": ["http://h/f", 5, 10]}',
    ),
    "range-past-end": _error(
        "A byte range ends after the data file that was opened.",
        "the references to a TIFF of which the second half is missing",
    ),
    "length-is-end": _warning(
        "Lengths equal the offset of the next range: they look like end offsets.",
        '{"a": ["http://h/f", 10, 20], "b": ["http://h/f", 20, 30], '
        '"c": ["http://h/f", 30, 40], "d": ["http://h/f", 40, 50]}',
    ),
    "almost-base64": _warning(
        "A text looks like base64, but does not begin with `base64:`; it is taken as text.",
        '{"a": "BASE64:aGVsbG8="}',
    ),
    "vast-number": _warning(
        "An offset or length is beyond 2**63 - 1, which most readers cannot hold.",
        '{"a": ["http://h/f", 9223372036854775808, 4]}',
    ),
    "base64-whitespace": _warning(
        "The base64 text contains spaces or line breaks.", '{"a": "base64:aGVs\\nbG8="}'
    ),
    "non-ascii-inline": _warning(
        "Inline text should be ASCII; it is read as UTF-8.", '{"a": "h\u00e9"}'
    ),
    "template-in-v0": _warning(
        "V0 has no templates: the braces are kept as they are.", '{"a": ["http://{{u}}/f"]}'
    ),
    "single-braces": _warning(
        "A URL of version 1 contains a name in single braces, which is kept as it is.",
        '{"version": 1, "templates": {"u": "h"}, "refs": {"a": ["http://{u}/f"]}}',
    ),
    "template-in-key": _warning(
        "Keys in `refs` are not templates: the braces are kept as they are.",
        '{"version": 1, "refs": {"{{u}}/0": "x"}}',
    ),
    "suspicious-key": _warning(
        "A key is empty, absolute, or has empty or dotted segments.", '{"a//b": "d"}'
    ),
    "unportable-key": _info(
        "Not every store and file system takes the key: it is not ASCII, is long, or has letters "
        "that some refuse.",
        '{"a\\\\b": "d"}',
    ),
    "key-is-also-directory": _warning(
        "A key is also the parent folder of other keys, which a file system cannot represent.",
        '{"a": "x", "a/b": "y"}',
    ),
}

TEMPLATES = {
    "bad-template": _error(
        "The template cannot be parsed or evaluated.",
        '{"version": 1, "templates": {"u": "h"}, "refs": {"k": ["http://{{u/f"]}}',
    ),
    "unsafe-template": _error(
        "The template uses a construct that could do harm, and is not evaluated.",
        '{"version": 1, "templates": {"u": "h"}, "refs": {"k": ["{{u.__class__}}"]}}',
    ),
    "template-limit": _error(
        "Evaluating the template would exceed the limits.",
        '{"version": 1, "refs": {"k": ["{{ \'a\' * 10 ** 9 }}"]}}',
    ),
    "undefined-name": _error(
        "The template uses an undefined name; jinja2 would render nothing in its place.",
        '{"version": 1, "refs": {"k": ["http://{{u}}/f"]}}',
    ),
    "bad-template-type": _error(
        "The value of a template must be a string.",
        '{"version": 1, "templates": {"u": null}}',
    ),
    "bad-template-name": _warning(
        "The name of a template cannot be written in an expression.",
        '{"version": 1, "templates": {"0": "h"}}',
    ),
    "unused-argument": _warning(
        "A call passes an argument that the template does not use.",
        '{"version": 1, "templates": {"f": "{{c}}"}, "refs": {"k": ["http://{{f(c=1, d=2)}}"]}}',
    ),
    "override-unused": _warning(
        "A template given at open time overrides none of the set.",
        "open_references(source, templates={'typo': '…'})",
    ),
}

GEN = {
    "gen-bad-item": _error("An item of `gen` must be an object.", '{"version": 1, "gen": ["x"]}'),
    "gen-missing-field": _error(
        "A required field of a gen item is missing.",
        '{"version": 1, "gen": [{"key": "x", "dimensions": {"i": [1]}}]}',
    ),
    "gen-bad-field": _error(
        "A field of a gen item has the wrong JSON type.",
        '{"version": 1, "gen": [{"key": ["x"], "url": "h", "dimensions": {"i": [1]}}]}',
    ),
    "gen-bad-dimension": _error(
        "A dimension is neither {start, stop, step} nor a list of integers.",
        _GEN % '"dimensions": {"i": 3}',
    ),
    "bad-dimension-name": _warning(
        "The name of a dimension cannot be written in an expression, or jinja2 reserves it.",
        _GEN % '"dimensions": {"i": [1], "odd-name": [0]}',
    ),
    "gen-offset-length-pair": _error(
        "`offset` and `length` must be given together.",
        _GEN % '"offset": "0", "dimensions": {"i": [1]}',
    ),
    "gen-bad-int": _error(
        "An offset or length does not render to an integer.",
        _GEN % '"offset": "0x10", "length": "1", "dimensions": {"i": [1]}',
    ),
    "gen-number-not-string": _warning(
        "An offset or length is a number where the specification requires a string.",
        _GEN % '"offset": 5, "length": 1, "dimensions": {"i": [1]}',
    ),
    "gen-empty": _warning(
        "A gen item generates no keys.", _GEN % '"dimensions": {"i": {"stop": 0}}'
    ),
    "gen-duplicate-key": _warning(
        "A key is generated more than once, or overrides an earlier one; the last reference is "
        "used.",
        '{"version": 1, "gen": [{"key": "x", "url": "h{{i}}", "dimensions": {"i": [0, 1]}}]}',
    ),
    "gen-not-checked": _info(
        "A gen item generates too many keys to check them all for duplicates or failing templates.",
        '{"version": 1, "gen": [{"key": "x/{{i * j}}", "url": "http://h", '
        '"dimensions": {"i": {"stop": 1000000}, "j": {"stop": 1000000}}}]}',
    ),
    "name-clash": _error(
        "A dimension and a template have the same name.",
        '{"version": 1, "templates": {"i": "h"}, '
        '"gen": [{"key": "x{{i}}", "url": "h", "dimensions": {"i": [1]}}]}',
    ),
    "unknown-field": _warning(
        "A gen item or dimension has a field that the specification does not define.",
        _GEN % '"size": "10", "dimensions": {"i": [1]}',
    ),
}

ARRAYS = {
    "metadata-not-json": _warning(
        "A metadata key does not hold valid JSON.", '{".zattrs": "{\\"a\\": "}'
    ),
    "ambiguous-node": _warning(
        "A path has metadata of an array and of a group, or of two versions of Zarr.",
        '{"x/.zgroup": "{\\"zarr_format\\": 2}", "x/zarr.json": "{\\"zarr_format\\": 3, '
        '\\"node_type\\": \\"group\\"}"}',
    ),
    "metadata-elsewhere": _info(
        "The metadata of an array or a group is a reference into a target, which is not read.",
        '{"x/.zarray": ["http://h/f", 0, 200]}',
    ),
    "odd-metadata-json": _info(
        "Other parsers refuse or change the JSON of a metadata key: NaN, a repeated name, an "
        "unpaired surrogate.",
        '{".zattrs": "{\\"missing\\": NaN}"}',
    ),
    "bad-metadata": _warning(
        "A field of the array metadata is missing or has the wrong type.",
        '{"x/.zarray": {"zarr_format": 2}}',
    ),
    "bad-dtype": _warning(
        "The data type of an array is missing, unknown, or has values that nothing stores.",
        _ARRAY % ("<f9", "0", ""),
    ),
    "codec-not-installed": _warning(
        "A codec of an array is unknown, or the package that brings it is not installed.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", '
        '"compressor": {"id": "zlibb"}, "filters": null, "order": "C", "fill_value": 0}}',
    ),
    "unsafe-codec": _warning(
        "A codec of an array runs code from the data while it decodes, and is never used.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|O", '
        '"compressor": null, "filters": [{"id": "pickle"}], "order": "C", "fill_value": 0}}',
    ),
    "no-dimension-names": _info(
        "An array has no names of dimensions, without which xarray does not open it.",
        _ARRAY % ("<i4", "null", ""),
    ),
    "bad-dimension-names": _warning(
        "The names of dimensions are not a list of texts, one for each dimension.",
        _ARRAY % ("<i4", "null", ', "x/.zattrs": {"_ARRAY_DIMENSIONS": ["x", "y"]}'),
    ),
    "dimension-sizes-differ": _warning(
        "A dimension has different lengths in arrays of one group, which xarray does not open.",
        _ARRAY
        % (
            "<i4",
            "null",
            ', "x/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}, '
            '"y/.zarray": {"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "<i4", '
            '"compressor": null, "filters": null, "order": "C", "fill_value": null}, '
            '"y/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}',
        ),
    ),
    "bad-attribute": _warning(
        "An attribute that xarray decodes by is not what it must be.",
        _ARRAY
        % ("<i4", "null", ', "x/.zattrs": {"_ARRAY_DIMENSIONS": ["x"], "scale_factor": "0.1"}'),
    ),
    "metadata-copies-differ": _warning(
        "Consolidated metadata say other than the metadata of the arrays themselves.",
        '{".zgroup": {"zarr_format": 2}, ".zmetadata": {"zarr_consolidated_format": 1, '
        '"metadata": {".zgroup": {"zarr_format": 3}}}}',
    ),
    "bad-chunks": _warning(
        "The chunk shape of an array is not valid.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [5], "chunks": [0], "dtype": "<f8", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}}',
    ),
    "chunk-outside-grid": _warning(
        "A chunk key lies outside the chunk grid of its array; no reader requests it.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<f8", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, "x/7": "12345678"}',
    ),
    "chunk-wrong-rank": _warning(
        "A chunk key has more or fewer indices than its array has dimensions.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<f8", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, '
        '"x/0.0": "12345678"}',
    ),
    "orphan-chunk": _warning(
        "A key looks like a chunk, but there is no array metadata for it. An error in a set that "
        "has Zarr metadata.",
        '{"x/0.0": ["http://h/f"]}',
    ),
    "chunk-length": _warning(
        "A chunk that is not compressed has more or fewer bytes than its array says.",
        _ARRAY % ("<i4", "null", ', "x/0": ["http://h/f", 0, 7]'),
    ),
    "empty-chunk": _warning(
        "The byte range of a chunk has a length of 0, which no codec decodes.",
        _ARRAY % ("<i4", "null", ', "x/0": ["http://h/f", 0, 0]'),
    ),
    "undecodable-inline": _error(
        "The inline data of a chunk cannot be decoded as the metadata of its array say.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", '
        '"compressor": {"id": "zlib"}, "filters": null, "order": "C", "fill_value": 0}, '
        '"x/0": "abc"}',
    ),
    "swapped-ranges": _warning(
        "The chunks of an array follow each other in their files, but for two that would if they "
        "had each other's references.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [6], "chunks": [1], "dtype": "<i4", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": null}, '
        '"x/0": ["http://h/f", 0, 4], "x/1": ["http://h/f", 16, 4], '
        '"x/2": ["http://h/f", 8, 4], "x/3": ["http://h/f", 12, 4], '
        '"x/4": ["http://h/f", 4, 4], "x/5": ["http://h/f", 20, 4]}',
    ),
    "fill-value-masks": _warning(
        "The data of an array contain its fill value, which xarray reads as missing.",
        _ARRAY
        % ("|u1", "0", ', "x/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}, "x/0": "\\u0000\\u0001"'),
    ),
    "fill-value-ignored": _warning(
        "`_FillValue` is not the fill value of the array, and xarray masks only the latter.",
        _ARRAY % ("<i4", "0", ', "x/.zattrs": {"_ARRAY_DIMENSIONS": ["x"], "_FillValue": -999}'),
    ),
    "fill-value-may-mask": _info(
        "The fill value of an array is a value that its data may contain; xarray reads it as "
        "missing.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<f8", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, '
        '"x/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}, "x/0": ["http://h/f", 0, 16]}',
    ),
    "array-elsewhere": _warning(
        "The values of an array are behind a link of LINDI, which other readers do not follow.",
        _ARRAY
        % (
            "<i4",
            "0",
            ', "x/.zattrs": {"_ARRAY_DIMENSIONS": ["x"], "_EXTERNAL_ARRAY_LINK": '
            '{"link_type": "hdf5_dataset", "url": "https://h/f.nwb", "name": "/x"}}',
        ),
    ),
    "soft-link": _info(
        "A group is a link of LINDI, shown with what it leads to; other readers do not follow it.",
        '{"g/.zgroup": {"zarr_format": 2}, "g/.zattrs": {"_SOFT_LINK": {"path": "/h"}}, '
        '"h/.zgroup": {"zarr_format": 2}}',
    ),
    "broken-link": _warning(
        "A link of LINDI leads to nothing, or back to itself, and is not followed.",
        '{"g/.zgroup": {"zarr_format": 2}, "g/.zattrs": {"_SOFT_LINK": {"path": "/h"}}}',
    ),
    "left-out": _error(
        "An object of a data file that was opened has no references, so that the set lacks it.",
        "An HDF5 file with a dataset of compound values of varying length.",
    ),
    "no-root": _error(
        "The set has neither a root group nor a root array: xarray and Zarr cannot open it.",
        _ARRAY % ("<i4", "0", ', "x/0": ["http://h/f", 0, 8]'),
    ),
    "no-group": _error(
        "A group above an array has no metadata: xarray shows an empty dataset.",
        '{".zgroup": {"zarr_format": 2}, "g/x/.zarray": {"zarr_format": 2, "shape": [2], '
        '"chunks": [2], "dtype": "<i4", "compressor": null, "filters": null, "order": "C", '
        '"fill_value": 0}, "g/x/0": ["http://h/f", 0, 8]}',
    ),
    "array-without-references": _warning(
        "An array of several values has no reference at all; it reads as the fill value.",
        _ARRAY % ("<i4", "0", ""),
    ),
    "no-references-at": _warning(
        "No array has a reference at one place of a dimension: a whole file may be missing. An "
        "error where the coordinate has no values there, either.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [3], "chunks": [1], "dtype": "<i4", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, '
        '"x/0": ["http://h/f", 0, 4], "x/2": ["http://h/g", 0, 4]}',
    ),
    "missing-chunks": _info(
        "Chunks of an array have no reference; they read as the fill value.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<f8", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, "x/0": "12345678"}',
    ),
    "repeated-range": _info(
        "Chunks of one array, or keys of a gen item, refer to the same byte range.",
        '{"x/.zarray": {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<i4", '
        '"compressor": null, "filters": null, "order": "C", "fill_value": 0}, '
        '"x/0": ["http://h/f", 0, 4], "x/1": ["http://h/f", 0, 4]}',
    ),
}

_STORE = (
    '{".zmetadata": {"metadata": {"%s": {"zarr_format": 2, "shape": [%s], "chunks": [1], '
    '"dtype": "|u1", "compressor": null, "filters": null, "order": "C", "fill_value": 0}}, '
    '"record_size": %s}%s}'
)
_RECORDS = (
    ', "%s/refs.0.parq": {"path": ["http://h/f", "http://h/f"], "offset": [0, 1], '
    '"size": [1, %s], "raw": [%s, null]}'
)
_WELL = _RECORDS % ("x", "1", "null")

PARQUET = {
    "parquet-bad-zmetadata": _error(
        "`.zmetadata` lacks `metadata` or a positive `record_size`.",
        _STORE % ("x/.zarray", 2, 0, _WELL),
    ),
    "parquet-unreadable": _error(
        "A record file is not valid parquet.",
        _STORE % ("x/.zarray", 2, 2, ', "x/refs.0.parq": "<html>"'),
    ),
    "parquet-bad-columns": _error(
        "A record file lacks one of the columns path, offset, size and raw, or one has another "
        "type.",
        _STORE % ("x/.zarray", 1, 1, ', "x/refs.0.parq": {"path": ["http://h/f"]}'),
    ),
    "parquet-too-many-rows": _error(
        "A record file has more rows than `record_size`.",
        _STORE % ("x/.zarray", 1, 1, _WELL),
    ),
    "parquet-too-large": _error(
        "A record file takes more bytes than the limits allow.",
        "one text of 500 kB in each of 2,000 rows, in 785 bytes",
    ),
    "parquet-missing-file": _warning(
        "A record file is missing: its chunks read as the fill value.",
        _STORE % ("x/.zarray", 2, 2, ""),
    ),
    "parquet-orphan-file": _warning(
        "A record file belongs to no array of `.zmetadata`.",
        _STORE % ("x/.zarray", 2, 2, _WELL + _RECORDS % ("y", "1", "null")),
    ),
    "parquet-lost-chunks": _warning(
        "fsspec does not find the chunks of an array in a parquet store; there they read as the "
        "fill value.",
        '{".zmetadata": {"metadata": {"x/.zarray": {"zarr_format": 2, "shape": [2, 1], '
        '"chunks": [1, 1], "dtype": "|u1", "compressor": null, "filters": null, "order": "C", '
        '"fill_value": 0, "dimension_separator": "/"}}, "record_size": 2}' + _WELL + "}",
    ),
    "parquet-lost-array": _error(
        "The metadata of an array in a parquet store does not give its chunk grid, so its record "
        "files cannot be used.",
        '{".zmetadata": {"metadata": {"x/zarr.json": {"zarr_format": 3, "node_type": "array"}}, '
        '"record_size": 2}' + _WELL + "}",
    ),
    "parquet-rows-outside-grid": _warning(
        "Rows beyond the chunk grid of the array hold references.",
        _STORE % ("x/.zarray", 1, 2, _WELL),
    ),
    "parquet-offset-without-size": _warning(
        "A row has an offset but size 0, which stands for the whole file.",
        _STORE % ("x/.zarray", 2, 2, _RECORDS % ("x", "0", "null")),
    ),
    "parquet-raw-and-path": _warning(
        "A row has both `raw` and `path`; `raw` is used.",
        _STORE % ("x/.zarray", 2, 2, _RECORDS % ("x", "1", '"a"')),
    ),
    "parquet-unsafe-path": _error(
        "A path in `.zmetadata` points outside the store.",
        _STORE % ("../x/.zarray", 1, 1, ""),
    ),
}
"""Their examples are folders: a file's name → its JSON, the columns of its table, or its text."""

SECTIONS = {
    "The document": DOCUMENT,
    "References": REFERENCES,
    "Templates": TEMPLATES,
    "gen": GEN,
    "Arrays": ARRAYS,
    "Parquet": PARQUET,
}
CATALOGUE: dict[str, Rule] = {
    code: rule for part in SECTIONS.values() for code, rule in part.items()
}
