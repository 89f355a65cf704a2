"""Looking: ``ls``, ``info`` and ``expand``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from refexplorer.cli import output
from refexplorer.cli.nearby import no_folder
from refexplorer.cli.program import (
    AsJson,
    ConcatDim,
    SourceArgument,
    app,
    fetched_text,
    open_set,
    severities,
    size_cell,
    status_of,
)
from refexplorer.display.text import beside_text
from refexplorer.markup import counted
from refexplorer.referenceset import ReferenceSet
from refexplorer.refset.summary import Summary
from refexplorer.refset.tree_nodes import Node
from refexplorer.spec.expansion import check_expandable

PAGE_ROWS = 1000
TERMINAL_ROWS = 100


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
    concat_dim: ConcatDim = None,
    as_json: AsJson = False,
) -> int:
    """Show what the set is: keys, arrays, targets, bytes."""
    from refexplorer.cli.inner_facts import repository_facts, write_repository

    refs = open_set(source, concat_dim=concat_dim)
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
        "rejected": summary.left_out,
        "left_out": len(refs.source.left_out),
        "diagnostics": severities(refs),
    }
    repository = None if refs.source.repository is None else repository_facts(refs)
    fetched = refs.source.fetched
    if as_json:
        more: dict[str, object] = {} if repository is None else {"repository": repository}
        if fetched is not None:
            more["fetched"] = asdict(fetched)
        output.write_json(facts | more, "arrays", _arrays(refs))
        return status_of(refs)
    shown = facts | {"bytes": _bytes_cell(summary)}
    rows = [(name.replace("_", " "), _words(value)) for name, value in shown.items()]
    if fetched is not None:
        rows.append(("read to make it", fetched_text(fetched)))
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
        output.write_lines(({"key": key, "value": value} for key, value in members), is_data=True)
    else:
        output.write_object(members, is_data=True)
    return status_of(refs)


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
    from refexplorer.io.decode.pipelines import shard_layout

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


def _bytes_cell(summary: Summary) -> str:
    if summary.bytes is None:
        return "not known"
    return f"{summary.bytes:,}{beside_text(summary)}"


def _words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{count:,} {name}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
