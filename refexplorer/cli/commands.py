"""The commands; each opens a set, asks it, and prints what it answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from refexplorer.cli import output
from refexplorer.cli.nearby import no_folder
from refexplorer.display.text import beside_text
from refexplorer.errors import LimitError, SourceError
from refexplorer.formats.forms.finding import NamedBytes
from refexplorer.limits import DEFAULT_LIMITS
from refexplorer.markup import counted
from refexplorer.opening import open_references
from refexplorer.referenceset import ReferenceSet
from refexplorer.refset.queries.summary import Summary
from refexplorer.refset.tree.nodes import Node
from refexplorer.spec.core.catalogue import Severity
from refexplorer.spec.core.diagnostics import Diagnostic, grouped
from refexplorer.spec.document.expansion import check_expandable

if TYPE_CHECKING:
    from refexplorer.data.check.check_results import TargetChecks

usage_errors = cast("type[typer.BadParameter]", typer.BadParameter.__bases__[0])
"""The base of all errors of a wrong call; typer has no public name for it."""
HAS_ERRORS = 1
STANDARD_INPUT = "-"
_PIECE = 2**20
PAGE_ROWS = 1000
TERMINAL_ROWS = 100
FIRST_OF_A_GROUP = 3

SourceArgument = Annotated[
    str,
    typer.Argument(
        help="A JSON file (plain, gzip, zstd), parquet folder or URL; - is standard input."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document to stdout.")]

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


@app.command()
def ls(
    source: SourceArgument,
    path: Annotated[str, typer.Argument(help="A folder of the set; the root if omitted.")] = "",
    start: Annotated[int, typer.Option(min=0, help="Number of the first row, counted from 0.")] = 0,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Maximum number of rows to list.")
    ] = None,
    tree: Annotated[
        bool, typer.Option("--tree", help="List three levels, the first rows of each.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """List one level of the tree."""
    refs = open_set(source)
    path, total = _level_at(refs, path)
    if tree and not as_json:
        output.write_tree(refs, path)
        return status_of(refs)
    if limit is None and output.is_terminal() and not as_json:
        limit = TERMINAL_ROWS
    nodes = output.at_most(_level(refs, path, start, total), limit)
    if as_json:
        fields = {"source": refs.source.name, "path": path, "total": total, "start": start}
        output.write_json(fields, "rows", (asdict(node) for node in nodes))
        return status_of(refs)
    rows = (
        (n.name, n.kind or n.type, size_cell(n.size), n.target, n.origin, n.children) for n in nodes
    )
    output.write_rows(("Key", "Kind", "Size", "Target", "From", "Below"), rows)
    if limit is not None and start + limit < total:
        output.say(f"{total - start - limit:,} more rows; continue with --start {start + limit}.")
    elif start >= total:
        output.say(_nothing_listed(refs, path, start, total))
    return status_of(refs)


@app.command()
def info(
    source: SourceArgument,
    code: Annotated[
        bool, typer.Option("--code", help="Print only the Python code that opens the set.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what the set is: keys, arrays, targets, bytes."""
    from refexplorer.cli.inner_facts import repository_facts, write_repository

    refs = open_set(source)
    if code:
        for line in refs.code().splitlines():
            output.write_line(line)
        return status_of(refs)
    summary = refs.summary()
    facts: dict[str, object] = {
        "source": refs.source.name,
        "form": refs.source.form,
        "keys": refs.count,
        "kinds": {str(kind): count for kind, count in summary.kinds.items()},
        "groups": summary.groups,
        "targets": summary.targets,
        "bytes": summary.bytes,
        "missing": summary.missing,
        "left_out": summary.left_out,
        "diagnostics": _severities(refs),
    }
    repository = None if refs.source.repository is None else repository_facts(refs)
    if as_json:
        more = {} if repository is None else {"repository": repository}
        output.write_json(facts | more, "arrays", _arrays(refs))
        return status_of(refs)
    shown = facts | {"bytes": _bytes_cell(summary)}
    rows = ((name.replace("_", " "), _words(value)) for name, value in shown.items())
    output.write_rows(("", ""), rows)
    columns = ("Array", "Shape", "Chunks", "Type", "Codecs", "Missing", "Rejected")
    output.write_line()
    arrays = list(_arrays(refs))
    output.write_rows(columns, map(_array_row, arrays))
    for array in arrays:
        if array["inner_count"] is not None:
            output.write_line(_shards_line(array))
    if repository is not None:
        write_repository(repository)
    return status_of(refs)


@app.command()
def expand(
    source: SourceArgument,
    as_json: AsJson = False,
    lines: Annotated[
        bool, typer.Option("--lines", help="Print one JSON object for each key.")
    ] = False,
) -> int:
    """Write the set as V0. The answer is JSON with and without --json."""
    refs = open_set(source)
    check_expandable(refs.count, refs.limits)
    sentence = f"Expanding {refs.source.name}"
    members = (
        (key, reference.to_v0())
        for key, reference in output.progress(refs.items(), refs.count, sentence)
    )
    if lines and not as_json:
        output.write_lines({"key": key, "value": value} for key, value in members)
    else:
        output.write_object(members)
    return status_of(refs)


@app.command()
def check(
    source: SourceArgument,
    targets: Annotated[
        bool,
        typer.Option("--targets", help="Request size and version of each target; no data is read."),
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Allow a place to be accessed: a folder, s3://bucket, a host."),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="File for the answers, from which the next run resumes.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="List each finding, where many are alike.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write the report to an HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List what is wrong or odd, with the place and what to do.

    Of many findings of one kind the first are listed. Targets are not asked without --targets,
    and not read with it; `refexplorer audit` decodes.
    """
    if (allow or resume) and not targets:
        raise typer.BadParameter("--allow and --resume require --targets.")
    refs = open_set(source)
    if targets:
        from refexplorer.cli.target_check import check_targets

        checks = check_targets(refs, allow or [], resume, as_json)
        _write_check_page(page, refs, checks)
        return 0 if checks.good else HAS_ERRORS
    _write_check_page(page, refs, None)
    counts = _severities(refs)
    if as_json:
        fields = {"source": refs.source.name, "form": refs.source.form, "keys": refs.count}
        written = (asdict(diagnostic) for diagnostic in refs.diagnostics)
        output.write_json(fields | counts, "diagnostics", written)
        return HAS_ERRORS if counts["error"] else 0
    for line in _diagnostic_lines(refs.diagnostics, every):
        output.write_line(line)
    found = ", ".join(f"{count:,} of severity {name}" for name, count in counts.items() if count)
    code = next((one.code for one in refs.diagnostics if one.severity is not Severity.INFO), None)
    explained = f" `refexplorer explain-code {code}` tells more of the first." if code else ""
    keys = counted(refs.count, "key")
    output.say(
        f"{refs.source.name}: {keys}; {found or 'no diagnostics'}. The targets "
        f"were not checked (use --targets) and no data was read.{explained}"
    )
    return HAS_ERRORS if counts["error"] else 0


def _write_check_page(path: Path | None, refs: ReferenceSet, checks: TargetChecks | None) -> None:
    if path is not None:
        from refexplorer.cli.check_page import write_check_page

        write_check_page(path, refs, checks)


def _diagnostic_lines(diagnostics: tuple[Diagnostic, ...], every: bool) -> Iterator[str]:
    """Yield what is said of the diagnostics; of many of one code the first, unless `every`."""
    for group in grouped(diagnostics):
        if every or not group.is_long:
            yield from map(str, group.diagnostics)
            continue
        yield group.title
        for diagnostic in group.diagnostics[:FIRST_OF_A_GROUP]:
            yield f"    {diagnostic.place}: {diagnostic.sentence}"
        left = len(group.diagnostics) - FIRST_OF_A_GROUP
        yield f"    and {left:,} more (`--all` lists them)"


def open_set(source: str, templates: Mapping[str, str] | None = None) -> ReferenceSet:
    """Open a set, saying on stderr how far it is."""
    with output.saying_warnings(), output.reading(f"Opening {source}") as progress:
        return open_references(given(source), templates=templates, progress=progress)


def given(source: str) -> str | bytes:
    """Return a source as it is, or what standard input has if it is ``-``.

    Raises
    ------
    LimitError
        If there are more than `Limits.document_bytes`.
    """
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


def _level_at(refs: ReferenceSet, path: str) -> tuple[str, int]:
    """Return the path, without slashes around it if there is none with them, and its rows."""
    for meant in (path, path.strip("/")):
        try:
            return meant, refs.children(meant, 0, 0).total
        except KeyError:
            continue
    raise no_folder(refs, path)


def _nothing_listed(refs: ReferenceSet, path: str, start: int, total: int) -> str:
    if total:
        return f"--start {start:,} is past the last of the {total:,} rows."
    if path in refs:
        return f"{path!r} is a key, not a folder; `refexplorer explain` describes it."
    return f"{refs.source.name} has no keys."


def _level(refs: ReferenceSet, path: str, start: int, total: int) -> Iterator[Node]:
    for first in range(start, total, PAGE_ROWS):
        yield from refs.children(path, first, min(first + PAGE_ROWS, total)).rows


def _arrays(refs: ReferenceSet) -> Iterator[dict[str, Any]]:
    from refexplorer.data.decode.sharding import shard_layout

    for path in refs.arrays():
        array, summary = refs.array(path), refs.summary(path)
        layout = shard_layout(array)
        yield {
            "path": path,
            "shape": array.shape,
            "chunks": array.chunks,
            "chunk_count": array.chunk_count,
            "inner_chunks": None if layout is None else layout.inner.chunks,
            "inner_count": None if layout is None else layout.inner.chunk_count,
            "dtype": array.dtype,
            "codecs": array.codecs,
            "dimensions": array.dimensions,
            "zarr_format": array.zarr_format,
            "missing": summary.missing,
            "left_out": summary.left_out,
        }


def _shards_line(array: dict[str, Any]) -> str:
    inner = ", ".join(map(str, array["inner_chunks"]))
    shards = counted(array["chunk_count"], "shard")
    return f"{array['path']}: {shards}, {counted(array['inner_count'], 'inner chunk')} of {inner}"


def _array_row(array: dict[str, object]) -> tuple[object, ...]:
    names = ("path", "shape", "chunks", "dtype", "codecs", "missing", "left_out")
    return tuple(
        ", ".join(map(str, value)) if isinstance(value, tuple) else value
        for value in (array[name] for name in names)
    )


def _severities(refs: ReferenceSet) -> dict[str, int]:
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


def _bytes_cell(summary: Summary) -> str:
    if summary.bytes is None:
        return "not known"
    return f"{summary.bytes:,}{beside_text(summary)}"


def _words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{count:,} {name}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
