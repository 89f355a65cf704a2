"""Of every diagnostic code: how it comes about, what to do, what readers do, and which rule it is.

What readers of JSON make of an example is computed for the page; `readers` says the rest.
"""

from __future__ import annotations

from typing import NamedTuple


class DiagnosticExplanation(NamedTuple):
    """What there is to know about a code beside its meaning; in whole sentences.

    Attributes
    ----------
    cause
        How it comes about.
    mend
        What to do, wherever one reads it.
    readers
        What readers do with it, where that is not computed from the example.
    rule
        Of `refexplorer.spec.core.rules`; empty where the specification says nothing.
    command
        Which command or which Python does it; left out on pages, whose users have neither.
    """

    cause: str
    mend: str
    readers: str = ""
    rule: str = ""
    command: str = ""


def _of(
    cause: str, mend: str, readers: str = "", *, rule: str = "", command: str = ""
) -> DiagnosticExplanation:
    return DiagnosticExplanation(cause, mend, readers, rule, command)


_FILL = "Zarr reads the fill value, and nobody is told."
_ZARR_FAILS = "Opening the array or group, or reading its chunks, raises an error in zarr."
_NOT_OPENED = "xarray raises an error when it opens the set; zarr alone opens the array."

DOCUMENT = {
    "not-json": _of(
        "A comma too many or too few, single quotation marks, a comment, a file that was cut off; "
        "or a web page that was saved as the set.",
        "Go to the line and column that is named. The editor has quick fixes for the usual slips; "
        "a file that ends early has to be fetched again.",
        "No reader opens the set.",
        rule="v0",
    ),
    "not-object": _of(
        "A list of sets, or a text that was encoded as JSON twice.",
        "Write one JSON object. Of a file that holds a list of sets open one by its number, as in "
        "`combined.json#2`.",
        "No reader opens the set.",
        rule="v0",
    ),
    "bad-version": _of(
        "A version of the writer, or the number as a string, was written where the version of the "
        "specification belongs.",
        'Write `"version": 1` if the references are in `refs`; else leave `version` out.',
        "fsspec raises an error for a version that it does not know.",
        rule="version",
    ),
    "bad-section": _of(
        "`refs` or `templates` was written as a list, or `gen` as a single item.",
        "`templates` and `refs` are objects, `gen` is a list of objects.",
        rule="refs",
    ),
    "version-missing": _of(
        "`version` was forgotten, or lost when the document was written anew.",
        'Add `"version": 1`.',
        rule="version",
    ),
    "unknown-top-level-key": _of(
        "References were left at the top level when version 0 was turned into version 1, or a name "
        "has a slip of the pen.",
        "Move references into `refs`; keep remarks of your own in an attribute of the root group.",
        rule="refs",
    ),
    "duplicate-key": _of(
        "Two documents were joined as text, or a key was copied and not renamed.",
        "Keep one of the two. Parsers keep the last without a word, so compare what both say.",
        rule="v0",
    ),
    "odd-encoding": _of(
        "An editor, or a shell of Windows, saved the file in UTF-16 or with a byte order mark.",
        "Save it as UTF-8 without a mark.",
        "Python's json refuses a mark in a text; others refuse UTF-16.",
    ),
    "no-references": _of(
        "The writer found nothing to refer to, or everything was filtered out.",
        "Look at what wrote it: an empty set opens as an empty group, or not at all.",
        rule="v0",
    ),
    "readers-differ": _of(
        "The set uses a part of the specification that not every reader has, such as `gen` or a "
        "filter.",
        "Test with the reader that is to read it, or write what every reader has: version 0.",
        rule="expand",
        command="`refexplorer convert set.json plain.json` writes it.",
    ),
    "nonstandard-json-nan": _of(
        "Python's json writes `NaN` and `Infinity`, which JSON does not have.",
        'Write the text `"NaN"` in Zarr metadata, or null.',
        rule="json-object",
    ),
}

REFERENCES = {
    "bad-ref-type": _of(
        "A number, `null` or `true` was written as a value, as for a chunk that is missing.",
        "Leave the key out if there is no chunk; write text as a string, a place as a list.",
        rule="v0",
    ),
    "bad-ref-shape": _of(
        "The length was forgotten, or a fourth element was added.",
        "Write `[url]` for the whole file, or `[url, offset, length]`.",
        rule="list-shape",
    ),
    "bad-url": _of(
        "The elements of the list are in another order, or the URL was lost.",
        "The URL is the first element, and a string.",
        rule="byte-range",
    ),
    "bad-offset": _of(
        "An offset was computed by subtraction, or written as a string or with a fraction.",
        "Write a whole number of bytes, 0 or more, without quotation marks.",
        rule="byte-range",
    ),
    "bad-length": _of(
        "A length was computed from offsets in the wrong order, or written as a string.",
        "Write a whole number of bytes, 0 or more, without quotation marks.",
        rule="byte-range",
    ),
    "bad-base64": _of(
        "The text was cut off, or is base64 for URLs, with `-` and `_`.",
        "Encode the bytes anew, with `+`, `/` and the `=` at the end, behind `base64:`.",
        rule="base64",
        command='In Python: `"base64:" + base64.b64encode(data).decode()`.',
    ),
    "bad-text": _of(
        "A character outside the first 65,536 was cut in half, or bytes were decoded with "
        "`surrogateescape`.",
        "Write the bytes as base64.",
        rule="ascii",
    ),
    "key-too-long": _of(
        "Data were written as a key, or a template repeats itself.",
        "Shorten the key.",
        "File systems refuse it, and so do object stores, beyond 1,024 bytes.",
        command="`Limits.key_bytes` lets one of that length in.",
    ),
    "float-offset": _of(
        "The numbers went through a float, as in a table of pandas with missing values.",
        "Write them as integers: 10, not 10.0.",
        rule="byte-range",
    ),
    "null-url": _of(
        "A writer leaves the target out on purpose: fsspec takes its argument `target` then.",
        "Name the target when the set is opened, or write it into the set.",
        "fsspec takes its argument `target`.",
        rule="byte-range",
    ),
    "empty-url": _of(
        "A template, or the argument of a call, is empty.",
        "Write the URL, or a value for the template that left it empty.",
        rule="byte-range",
        command="`refexplorer explain` tells which template that is.",
    ),
    "relative-url": _of(
        "The set was written beside its files.",
        "Keep set and files together, or write whole URLs.",
        "refexplorer takes it from the folder of the set, fsspec from the working directory.",
        rule="byte-range",
        command="`refexplorer convert --rename` writes them.",
    ),
    "chained-url": _of(
        "The targets lie inside an archive, or are to be cached.",
        "Refer to the archive itself with offsets inside of it, or give `remote_protocol` when "
        "the set is opened.",
        "fsspec fails when the key is read.",
        rule="byte-range",
    ),
    "unportable-url": _of(
        "The name of a file has a space, a `%`, a `#`, a `?` or a letter that is not ASCII.",
        "Rename the files if you can; else test with the reader that is to read the set.",
        "Some take escapes as they are, others decode them, so they ask for different files.",
        rule="byte-range",
    ),
    "signed-url": _of(
        "The set was written with URLs that a portal or a tool signed, or with a user name and a "
        "password.",
        "Write plain URLs, which readers open with credentials of their own, and revoke what was "
        "published.",
        "Readers send the URL as it is: every chunk fails once the signature has expired.",
        rule="byte-range",
        command="`storage_options` takes credentials when a set is opened in Python.",
    ),
    "suspicious-characters": _of(
        "A URL was copied from a formatted text, or somebody wants to deceive.",
        "Type the URL anew, and look at the host before you allow it.",
        "Readers ask for the URL as it is written, which is not the one that is seen.",
        rule="byte-range",
    ),
    "mixed-protocols": _of(
        "Sets with targets in different places were combined.",
        "Nothing, if your reader opens a file system for each protocol.",
        "fsspec opens a file system for each, with options for each in `remote_options`.",
        rule="byte-range",
    ),
    "odd-url": _of(
        "A URL was typed, or edited, by hand.",
        "Compare it with the URLs of the other chunks.",
        "A reader asks for a file that is not there, or reads another one.",
        command="`refexplorer check --targets` asks whether the file is there.",
    ),
    "overlapping-ranges": _of(
        "An offset or a length is wrong: one of the two reads bytes that belong to the other.",
        "Compare both with the file; the chunk that begins where its neighbour ends is the right "
        "one.",
        "Both ranges are read as they are. Codecs mostly fail on a shifted one; data that are not "
        "compressed read as noise.",
        rule="byte-range",
        command="`refexplorer verify` compares them.",
    ),
    "range-past-end": _of(
        "The download or copy stopped early, or bytes of the file were changed.",
        "Compare the size of the file with the original, and copy it again.",
        "Readers get fewer bytes than the chunk has, and mostly fail.",
        rule="byte-range",
    ),
    "length-is-end": _of(
        "The writer took the third number for the end of the range.",
        "Subtract the offset from each: the third number is a length.",
        "Readers fetch more than the chunk has; codecs mostly ignore or refuse what follows it.",
        rule="byte-range",
    ),
    "almost-base64": _of(
        "The prefix has another spelling, a space, or was forgotten.",
        "Begin the text with `base64:`, in lower case and without a space.",
        "Readers take the text itself for the data.",
        rule="base64",
    ),
    "vast-number": _of(
        'A value for "unknown" was written, or a number wrapped round.',
        "Write the true number.",
        "Readers that hold 64 bits fail or take another number; JavaScript rounds beyond 2**53.",
        rule="byte-range",
    ),
    "base64-whitespace": _of(
        "The text was wrapped, as `base64.encodebytes` and the command `base64` do.",
        "Take spaces and line breaks out: `base64.b64encode` adds none.",
        rule="base64",
    ),
    "non-ascii-inline": _of(
        "An attribute has a letter such as é, or bytes were decoded as Latin-1.",
        "Escape letters in JSON, as `json.dumps` does by default; write bytes as base64.",
        rule="ascii",
    ),
    "template-in-v0": _of(
        "`version` is missing, or templates were copied from a version 1.",
        "Make it version 1, with `templates` and `refs`, or write the URL out.",
        rule="templates",
    ),
    "single-braces": _of(
        "Braces of Python's `str.format` were written for those of jinja2.",
        "Write two braces on each side: `{{u}}`.",
        rule="templates",
    ),
    "template-in-key": _of(
        "Templates were expected to work everywhere; in `refs` they do in URLs alone.",
        "Write the key out, or generate it with `gen`, whose `key` is a template.",
        rule="refs",
    ),
    "suspicious-key": _of(
        "Paths were joined with a slash too many, or the key is a path of a file system.",
        "Write names with single slashes between them, and none in front.",
        "Stores in folders and in the cloud do not agree on such keys.",
    ),
    "unportable-key": _of(
        "The key was made of a name with letters that are not ASCII, or is a path of Windows.",
        "Write short ASCII names.",
        "Some stores and file systems refuse it, or spell it otherwise.",
    ),
    "key-is-also-directory": _of(
        "A variable and a group have the same name.",
        "Rename one of the two.",
        "A mapping in memory has both; a folder on disk cannot.",
    ),
}

TEMPLATES = {
    "bad-template": _of(
        "Braces that are not closed, a slip in an expression, or an operation on the wrong kind "
        "of value.",
        "Go to the template; the message says what stopped it.",
        rule="jinja",
        command="JINJA.md of the reference lists what is read.",
    ),
    "unsafe-template": _of(
        "The template uses a part of jinja2 that runs code or is not needed for URLs.",
        "Write it with names, arithmetic, filters and calls.",
        rule="jinja",
        command="Who trusts the set can have jinja2's sandbox render it, by the option `trusted`.",
    ),
    "template-limit": _of(
        "A number or a text in the template grows beyond what a URL needs.",
        "Write less.",
        rule="jinja",
        command="If it is meant, raise the limit that the message names.",
    ),
    "undefined-name": _of(
        "A slip of the pen, a template that was removed, or a name that a template does not see.",
        "Define the name in `templates`, or pass it: a template sees its arguments alone.",
        rule="scope",
    ),
    "bad-template-type": _of(
        "A template was left empty as null, or is a number.",
        "Write a string; numbers, too, in quotation marks.",
        rule="templates",
    ),
    "bad-template-name": _of(
        "The name has a hyphen or a dot, or begins with a digit.",
        "Use letters, digits and underscores, and begin with a letter.",
        rule="templates",
    ),
    "unused-argument": _of(
        "The argument was renamed in one place only, or the template is not the one that was "
        "meant.",
        "Take the argument out, or use it in the template.",
        rule="arguments",
    ),
    "override-unused": _of(
        "The name given has a slip of the pen, or the set has other templates.",
        "Give a name that `templates` has.",
        "fsspec's `template_overrides` says nothing either way.",
        rule="templates",
    ),
}

GEN = {
    "gen-bad-item": _of(
        "`gen` holds keys or texts.",
        "Each item is an object with `key`, `url` and `dimensions`.",
        rule="gen",
    ),
    "gen-missing-field": _of(
        "A field was forgotten, or its name has a slip of the pen.",
        "Add the field; `key`, `url` and `dimensions` are required.",
        rule="gen",
    ),
    "gen-bad-field": _of(
        "A field is a number or a list.",
        "Write `key`, `url`, `offset` and `length` as strings, `dimensions` as an object.",
        rule="gen",
    ),
    "gen-bad-dimension": _of(
        "A number was written for a range, or values are strings or have fractions.",
        'Write `{"stop": 3}`, or a list of integers.',
        rule="range",
    ),
    "bad-dimension-name": _of(
        "The name has a hyphen or is a word of jinja2.",
        "Use letters, digits and underscores, and begin with a letter.",
        rule="dimensions",
    ),
    "gen-offset-length-pair": _of(
        "One of the two was forgotten.",
        "Write both, or neither for the whole file.",
        rule="gen-range",
    ),
    "gen-bad-int": _of(
        "`/` was written for `//`, or something stands beside the number.",
        "Render a plain integer: `{{i // 2 * 100}}`.",
        rule="gen-range",
    ),
    "gen-number-not-string": _of(
        "A number does not change, so it was written as one.",
        'Put it in quotation marks: `"1000"`.',
        rule="gen-range",
    ),
    "gen-empty": _of(
        "`stop` is not above `start`, or a list has no values.",
        "Give the dimension values, or take the item out.",
        rule="range",
    ),
    "gen-duplicate-key": _of(
        "The key does not use a dimension, or two items overlap.",
        "Use every dimension in the key, so that each combination has its own.",
        rule="product",
    ),
    "gen-not-checked": _of(
        "Whether keys repeat cannot be seen from the templates, and there are too many to try.",
        "Make the key of the dimensions themselves, as in `x/{{i}}.{{j}}`.",
        "Not checked.",
        rule="product",
    ),
    "name-clash": _of(
        "A short name such as `i` was used for both.",
        "Rename one of them: readers do not agree which one is meant.",
        rule="gen-names",
    ),
    "unknown-field": _of(
        "A slip of the pen, or a name of another tool: `size` for `length`, `end` for `stop`.",
        "Use the name that the specification has.",
        rule="gen",
    ),
}

ARRAYS = {
    "metadata-not-json": _of(
        "Metadata were edited as text, or cut off.",
        "Write them as a JSON object, which needs no backslashes.",
        _ZARR_FAILS,
        rule="json-object",
    ),
    "ambiguous-node": _of(
        "Sets of Zarr v2 and v3 were joined, or a group was made into an array.",
        "Keep the metadata of one version and of one kind.",
        "Readers take what they look for first, and that is not the same for all.",
    ),
    "metadata-elsewhere": _of(
        "A writer referred to metadata of a Zarr store as it does to chunks.",
        "Nothing, if the target can be read; write the metadata into the set to open it faster.",
        "Readers fetch the metadata before they can open the array.",
    ),
    "odd-metadata-json": _of(
        "Python's json wrote NaN, or a name twice.",
        'Write `"NaN"` as a text, and each name once.',
        "Python reads it; parsers that keep to JSON refuse it or take other values.",
    ),
    "bad-metadata": _of(
        "Metadata were written by hand, or for another version of Zarr.",
        "Add the field that is named, as the Zarr specification has it.",
        "zarr raises an error, or does not see the array at all.",
    ),
    "bad-dtype": _of(
        "A slip of the pen, or a type that the writer has and Zarr does not.",
        "Write a type such as `<f4`, as numpy's `dtype.str` gives it.",
        _ZARR_FAILS,
    ),
    "codec-not-installed": _of(
        "The set needs a package that is not there, or the name has a slip of the pen.",
        "Install the package that is named, and correct the name.",
        _ZARR_FAILS,
    ),
    "unsafe-codec": _of(
        "Python objects were stored with pickle.",
        "Write the array anew with another codec, such as vlen-utf8 for texts.",
        "zarr 2 decodes it, and so runs whatever code the data hold; zarr 3 refuses it, and "
        "refexplorer never decodes it.",
    ),
    "no-dimension-names": _of(
        "The writer did not know of xarray.",
        "Add `_ARRAY_DIMENSIONS` to `.zattrs`, or `dimension_names` to `zarr.json`.",
        _NOT_OPENED,
    ),
    "bad-dimension-names": _of(
        "A dimension was added or dropped, and the names were not.",
        "Write one name for each dimension.",
        _NOT_OPENED,
    ),
    "dimension-sizes-differ": _of(
        "Arrays of different grids were put into one group, or one of them was made longer.",
        "Rename the dimension of one of them, or put it into a group of its own.",
        _NOT_OPENED,
    ),
    "bad-attribute": _of(
        "A number was written as text, or units that xarray does not know.",
        "Write the attribute as the CF conventions have it.",
        "xarray raises an error when it decodes; `decode_cf=False` opens the set.",
    ),
    "metadata-copies-differ": _of(
        "An array was changed and `.zmetadata` was not.",
        "Consolidate anew, or take `.zmetadata` out.",
        "Readers of consolidated metadata see the old array, others the new one.",
    ),
    "bad-chunks": _of(
        "A chunk shape of 0, or of another number of dimensions.",
        "Write a positive length for each dimension.",
        _ZARR_FAILS,
    ),
    "chunk-outside-grid": _of(
        "The shape was not made longer when chunks were added, or the separator of chunk keys is "
        "another one.",
        "Correct the shape or the chunks, or take the key out.",
        "No reader asks for the chunk: its data are lost, and nobody is told.",
    ),
    "chunk-wrong-rank": _of(
        "A dimension was added or dropped, and the keys were not renamed.",
        "Write one index for each dimension.",
        _FILL,
    ),
    "orphan-chunk": _of(
        "The metadata of the array are missing, or lie under another name.",
        "Add `.zarray` or `zarr.json` beside the chunk, or take it out.",
        "No reader sees the array.",
    ),
    "chunk-length": _of(
        "A range is cut off, or the array has another type or chunk shape than the file.",
        "Compare offset and length with the file, and type and chunks with its header.",
        "zarr raises an error when it reads the chunk.",
    ),
    "empty-chunk": _of(
        "HDF5 has not allocated the chunk, and the writer wrote it down all the same.",
        "Take the key out, so that the chunk reads as the fill value.",
        "A codec raises an error; some readers take 0 for the whole file.",
        rule="byte-range",
    ),
    "undecodable-inline": _of(
        "Data were inlined without what the codecs do, or the codecs were changed.",
        "Encode the data as the metadata say, or correct the codecs.",
        "zarr raises an error when it reads the chunk.",
    ),
    "swapped-ranges": _of(
        "Two references were exchanged when they were sorted or edited.",
        "Compare with the file, and exchange them again.",
        "Both chunks decode, each in the place of the other, and nobody is told.",
        rule="byte-range",
        command="`refexplorer verify` compares them.",
    ),
    "fill-value-masks": _of(
        "The writer took the fill value of Zarr from the default, often 0.",
        "Write `fill_value` as null, or a value that the data do not have.",
        "xarray shows true values as missing; zarr shows them as they are.",
    ),
    "fill-value-ignored": _of(
        "The attribute of the file was copied, and `fill_value` was left at a default.",
        "Write the value of `_FillValue` as the `fill_value` of the array.",
        "xarray shows the missing values as numbers.",
    ),
    "fill-value-may-mask": _of(
        "The fill value is one that data may well have, such as 0.",
        "Look whether the data have it; if so write another one, or null.",
        "xarray shows such values as missing.",
    ),
    "left-out": _of(
        "No reference can say where its values are, or nothing here makes references of its kind.",
        "Read the object with the library of its format, or write it in another form.",
        "No reader of the set sees the object.",
    ),
    "no-root": _of(
        "The set is a part of another one, or its maker wrote the arrays only.",
        "Add `.zgroup` (Zarr v2) or `zarr.json` (v3) at the root, as the message shows.",
        "xarray and zarr raise an error when they open the set.",
    ),
    "no-group": _of(
        "Arrays were moved below a folder, or sets were put together without their groups.",
        "Add `.zgroup` (Zarr v2) or `zarr.json` (v3) of the group, as the message shows.",
        "xarray shows a dataset without the arrays, and raises an error when it opens the group.",
    ),
    "array-without-references": _of(
        "Its files never wrote the array; or the references to it were lost, or were never made.",
        "Nothing, if the files have no values; else make the set again from its files.",
        _FILL,
        command="`refexplorer verify` compares with the files.",
    ),
    "no-references-at": _of(
        "A file was lost, or the worker that made its references failed.",
        "Make the references to that file and add them; or make the set without that place.",
        _FILL,
        command="`refexplorer verify` compares with the files.",
    ),
    "missing-chunks": _of(
        "Chunks that hold nothing but the fill value were not written; or a file was lost.",
        "Nothing, if the source has no such chunks; else write the set anew.",
        _FILL,
    ),
    "repeated-range": _of(
        "An index was not counted on, or chunks that are alike were stored once.",
        "Look at the keys: chunks of measured data are seldom the same.",
        "Readers give the same data for each of them.",
        rule="byte-range",
    ),
}

_NOT_FOUND = "fsspec does not find the keys, and zarr reads the fill value."
PARQUET = {
    "parquet-bad-zmetadata": _of(
        "The folder is a Zarr store of another kind, or its writer was interrupted.",
        "Write the store anew.",
        "fsspec raises an error when it looks for the first key.",
        rule="zmetadata",
    ),
    "parquet-unreadable": _of(
        "A download was cut off, or a server answered with a web page.",
        "Fetch the record file again.",
        _NOT_FOUND,
        rule="parquet-layout",
    ),
    "parquet-bad-columns": _of(
        "The table was written by hand, or by another program.",
        "Write the columns `path`, `offset`, `size` and `raw`.",
        "fsspec takes a column that is missing for empty.",
        rule="row",
        command="`refexplorer convert` writes them.",
    ),
    "parquet-too-many-rows": _of(
        "`record_size` was changed in `.zmetadata` alone, or the file wants to cost memory.",
        "Write the store anew with the record size that is wanted.",
        "fsspec never asks for the rows beyond.",
        rule="record-size",
    ),
    "parquet-too-large": _of(
        "Large data were inlined, or the file wants to cost memory.",
        "Write data as ranges of a target; raise the limit that the message names.",
        "Readers load the whole file when they come to it.",
        rule="raw",
    ),
    "parquet-missing-file": _of(
        "A copy left it out, or the files are numbered as the text of the specification has it.",
        "Copy or write it again; the second file is `refs.1.parq`.",
        _NOT_FOUND,
        rule="parquet-layout",
    ),
    "parquet-orphan-file": _of(
        "An array was removed or renamed in `.zmetadata` alone.",
        "Take the file out, or add the array.",
        "No reader opens the file.",
        rule="parquet-layout",
    ),
    "parquet-lost-chunks": _of(
        "The array has a layout of chunk keys for which fsspec makes no row number.",
        "Write the set as JSON, or the array with `.` between the indices.",
        _NOT_FOUND,
        rule="c-order",
    ),
    "parquet-lost-array": _of(
        "The metadata are of a kind whose chunks have no numbers.",
        "Write the set as JSON.",
        _NOT_FOUND,
        rule="c-order",
    ),
    "parquet-rows-outside-grid": _of(
        "The shape was made shorter, or the store is that of another array.",
        "Correct the shape, or write the store anew.",
        "No reader of the array asks for the rows.",
        rule="padding",
    ),
    "parquet-offset-without-size": _of(
        "The size was not known when the row was written.",
        "Write the size, or 0 as the offset for the whole file.",
        "fsspec reads no bytes at all.",
        rule="row",
    ),
    "parquet-raw-and-path": _of(
        "Data were inlined, and the place was kept.",
        "Leave one of the two empty.",
        "fsspec uses `raw`.",
        rule="raw",
    ),
    "parquet-unsafe-path": _of(
        "The store wants files from elsewhere, or paths were joined wrongly.",
        "Write names below the store.",
        "refexplorer leaves the key out; others were not tried.",
        rule="parquet-layout",
    ),
}

LINKS = {
    "array-elsewhere": _of(
        "LINDI leaves arrays of very many chunks in the HDF5 file, and writes a link to it.",
        "Open the file that the link names: with kerchunk, references are made to it.",
        "LINDI's own reader follows the link; others show the array without its values.",
    ),
    "soft-link": _of(
        "An HDF5 file has a soft link to a group or a dataset, and LINDI wrote it as an attribute.",
        "Convert the set if other readers are to find what the link leads to.",
        "LINDI's own reader follows the link, as this one does; others show an empty group.",
    ),
    "broken-link": _of(
        "What the link leads to was left out, the link is part of what it leads to, or gen items "
        "make keys there.",
        "Make references to the file anew, or copy the keys that the link is to lead to.",
        "LINDI's own reader takes each path from the root; one that begins without a slash is "
        "followed if it leads to one place.",
    ),
}

EXPLANATIONS: dict[str, DiagnosticExplanation] = {
    **DOCUMENT,
    **REFERENCES,
    **TEMPLATES,
    **GEN,
    **ARRAYS,
    **PARQUET,
    **LINKS,
}
"""By code, all those of the catalogue."""
