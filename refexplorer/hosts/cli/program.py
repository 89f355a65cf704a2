"""The program that verbs join: its arguments, opening of sets, and exit statuses."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, cast

import typer

from refexplorer.core.errors import LimitError, SourceError
from refexplorer.core.limits import DEFAULT_LIMITS
from refexplorer.core.text import counted, size_text
from refexplorer.formats.datafiles.streams import ReadAmount
from refexplorer.formats.finding import NamedBytes
from refexplorer.hosts.cli import output
from refexplorer.spec.codes import Severity
from refexplorer.verbs.opening import open_references
from refexplorer.verbs.referenceset import ReferenceSet

EXAMPLES = {
    "ls": {
        "refexplorer ls combined.json": "the root of the tree",
        "refexplorer ls combined.json sst --start 2 --limit 5": "five keys of one array",
        "refexplorer ls combined.json --tree": "three levels at once",
    },
    "info": {
        "refexplorer info combined.json": "what there is, array by array",
        "refexplorer info combined.json --json": "the same for a program",
        "cat combined.json | refexplorer info -": "from standard input",
    },
    "find": {
        "refexplorer find combined.json 'sst/*.0.1'": "by glob",
        "refexplorer find combined.json '^wind/[0-3][.]' --mode regex": "with a regular expression",
        "refexplorer find combined.json '*' --kind base64 --limit 10": "by kind",
    },
    "explain": {
        "refexplorer explain combined.json wind/7.0.0": "each template, gen and dimension",
    },
    "explain-code": {
        "refexplorer explain-code overlapping-ranges": "what check means, and how to mend it",
    },
    "why": {
        "refexplorer why combined.json sst 0,10,20 --allow .": "why this value is what it is",
    },
    "expand": {
        "refexplorer expand combined.json > v0.json": "as one V0 document",
        "refexplorer expand combined.json --lines | head -3": "one key a line",
    },
    "check": {
        "refexplorer check combined.json": "exit status 1 if there are errors",
        "refexplorer check combined.json --json": "with JSON pointers, lines and columns",
        "refexplorer check combined.json --targets": "check the files that it refers to",
        "refexplorer check combined.json --html report.html": "as a page",
    },
    "audit": {
        "refexplorer audit combined.json": "sizes, ranges, ten chunks of each array",
        "refexplorer audit combined.json --decode all --results audited": "kept, to resume later",
    },
    "verify": {
        "refexplorer verify combined.json": "places, packing, units, coordinates of all files",
        "refexplorer verify combined.json --values sample": "and values of ten chunks each",
        "refexplorer verify combined.json --html report.html": "for whom the files belong to",
    },
    "repair": {
        "refexplorer repair combined.json --dry-run": "what the files would change",
        "refexplorer repair combined.json -o new.json": "verified before it gets its name",
    },
    "advise": {
        "refexplorer advise combined.json": "what opening and reading cost, and what would help",
        "refexplorer advise combined.json --access 'sst[0,10:20]' --place lustre": "of a part",
        "refexplorer advise combined.json --chunks sst:time=10 --json": "with Dask, for a program",
        "refexplorer advise combined.json --measure": "by the speed of the host itself",
    },
    "dialects": {
        "refexplorer dialects combined.json": "what each reader makes of it, and why",
        "refexplorer dialects combined.json --reader 'fsspec (default)'": "one of them",
    },
    "schema": {
        "refexplorer schema > v1.schema.json": "of version 1",
        "refexplorer schema --v0": "of version 0",
    },
    "infer": {
        "refexplorer infer combined.json": "how much shorter a document would be",
        "refexplorer infer combined.json -o shorter.json": "and write it",
    },
    "diff": {
        "refexplorer diff before.json combined.json": "exit status 1 if anything differs",
        "refexplorer diff before.json combined.json --change moved": "one kind of change",
    },
    "convert": {
        "refexplorer convert combined.json combined.parq": "to a parquet store, read back",
        "refexplorer convert combined.json moved.json.gz --rename sst_=s3://b/sst_": "other URLs",
        "refexplorer convert combined.json fast.json --inline-coordinates": "opening reads nothing",
    },
    "serve": {
        "refexplorer serve combined.json": "the page on one set",
        "refexplorer serve --allow . --no-browser": "allow the sets and targets in this folder",
        "refexplorer serve --address 0.0.0.0 --origin data.example.org": "others, behind a proxy",
        "refexplorer serve combined.json --no-browser --json": "the address for a program",
    },
    "page": {
        "refexplorer page combined.json -o report.html": "for an issue, or who has no Python",
        "refexplorer page combined.json --read sst --allow . --targets": "with values and sizes",
        "refexplorer page combined.json --editor": "its text and how each key is made",
        "refexplorer page 07-first-gen --exercise": "a task with its answers judged",
    },
    "demo": {
        "refexplorer demo": "needs no network",
    },
}
"""Command → what to type → what it is for, in the order of the help; a test runs each of them."""


def epilog(command: str) -> str:
    r"""Return the examples as the end of a help text; ``\b`` keeps its lines as they are."""
    lines = [f"  {line}\n      {purpose}" for line, purpose in EXAMPLES.get(command, {}).items()]
    return "\n".join(["\b", "Examples:", *lines]) if lines else ""


usage_errors = cast("type[typer.BadParameter]", typer.BadParameter.__bases__[0])
"""The base of all errors of a wrong call; typer has no public name for it."""
HAS_ERRORS = 1  # exit status
NOT_CHECKED = 2
"""Nothing is wrong so far, but not all may be read yet, or the work did not come to its end."""
STANDARD_INPUT = "-"
_PIECE = 2**20  # bytes that are read at a time, so that a limit stops a stream in time

SourceArgument = Annotated[
    str,
    typer.Argument(
        help="A JSON file (plain, gzip, zstd), parquet folder or URL; - is standard input."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document to stdout.")]
ConcatDim = Annotated[
    str | None,
    typer.Option(help="Join the files that SOURCE fits as a pattern along this dimension."),
]

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"refexplorer {version('refexplorer')}")
        raise typer.Exit


@app.callback()
def program(
    tell_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Look into kerchunk and VirtualiZarr reference sets."""


def open_set(
    source: str, templates: Mapping[str, str] | None = None, concat_dim: str | None = None
) -> ReferenceSet:
    """Open a set, saying on stderr how far it is, and what was read of data files on servers."""
    with output.saying_warnings(), output.reading(f"Opening {source}") as progress:
        refs = open_references(
            given(source), templates=templates, progress=progress, concat_dim=concat_dim
        )
    if refs.source.fetched is not None:
        output.say(f"To make references {fetched_text(refs.source.fetched)} were read.")
    return refs


def fetched_text(fetched: ReadAmount) -> str:
    """Say what was read of data files to make references."""
    asked = counted(fetched.requests, "request")
    return f"{size_text(fetched.bytes)} of {size_text(fetched.size)} in {asked}"


def given(source: str) -> str | bytes:
    """Return a source as it is, or what standard input has if it is ``-``."""
    if source != STANDARD_INPUT:
        return source
    most, pieces, count = DEFAULT_LIMITS.document_bytes, list[bytes](), 0
    if sys.stdin is None:
        raise SourceError("Standard input is closed.")
    while piece := sys.stdin.buffer.read(_PIECE):
        pieces.append(piece)
        count += len(piece)
        if count > most:
            raise LimitError(f"Standard input has more than {most:,} bytes.")
    found = NamedBytes(b"".join(pieces))
    found.name = "standard input"
    return found


def severities(refs: ReferenceSet) -> dict[str, int]:
    """Count findings; one may stand for many alike."""
    counts = {str(severity): 0 for severity in Severity}
    for diagnostic in refs.diagnostics:
        counts[diagnostic.severity] += diagnostic.count
    return counts


def status_of(refs: ReferenceSet) -> int:
    """Say that a set has errors where the command itself would not show it."""
    errors = refs.error_count
    if not errors:
        return 0
    output.say(f"{refs.source.name} has {errors:,} errors; `refexplorer check` lists them.")
    return HAS_ERRORS


def size_cell(size: int | None) -> int | str:
    """Return a size in bytes as the cell of a table."""
    return "not known" if size is None else size
