"""Looking: ``ls``, ``info`` and ``expand``."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from difflib import get_close_matches
from typing import Any

from refexplorer.core.errors import RefexplorerError, SourceError
from refexplorer.core.limits import check_expandable
from refexplorer.core.text import counted
from refexplorer.hosts.cli import output
from refexplorer.hosts.cli.program import (
    HAS_ERRORS,
    NOT_CHECKED,
    AsJson,
    Natural,
    NaturalOrNone,
    Text,
    Texts,
    app,
    command_for,
    fetched_text,
    open_set,
    severities,
    size_cell,
    status_of,
)
from refexplorer.io.reading.readings import ChunkState
from refexplorer.refset.opened_set import internals
from refexplorer.refset.summary import whole_files_text
from refexplorer.refset.tree import Node
from refexplorer.spec.findings import severities_text
from refexplorer.spec.references import NodeType
from refexplorer.spec.zarr_metadata import type_name
from refexplorer.verbs.display import known_diagnostics, tree_text
from refexplorer.verbs.opening import history
from refexplorer.verbs.referenceset import ReferenceSet

_SHOWN = 3  # suggestions for a misspelt name
_COMPARED = 1000  # Rows of a level that are compared: the first ones


def no_key(refs: ReferenceSet, key: str) -> SourceError:
    """Return the error for a missing key: what it is instead, or similar keys."""
    if is_folder(refs, key):
        return SourceError(
            f"{key!r} of {refs.source.name} is a folder of keys; {command_for('ls', key)} "
            "lists them."
        )
    if error := refs.rejection(key):
        return SourceError(f"{key!r} of {refs.source.name} is rejected: {error}")
    return SourceError(f"{refs.source.name} has no key {key!r}{_near(refs, key)}.")


def no_folder(refs: ReferenceSet, path: str) -> SourceError:
    """Return the error for a path that does not exist."""
    return SourceError(f"{refs.source.name} has nothing at {path!r}{_near(refs, path)}.")


def no_array(refs: ReferenceSet, path: str) -> SourceError:
    """Return the error for a path without an array."""
    if is_folder(refs, path):
        if refs.node(path).type is NodeType.ARRAY:
            return SourceError(
                f"The metadata of {path!r} in {refs.source.name} cannot be used; "
                f"{command_for('check')} says why."
            )
        return SourceError(
            f"{path!r} of {refs.source.name} is not an array; {command_for('info')} "
            "lists the arrays."
        )
    return no_folder(refs, path)


@contextmanager
def naming_missing(refs: ReferenceSet, key: str | None = None) -> Iterator[None]:
    """Suggest keys or arrays similar to a missing one."""
    try:
        yield
    except KeyError as error:
        missing = no_array(refs, error.args[0]) if key is None else no_key(refs, key)
        raise missing from None


def is_folder(refs: ReferenceSet, path: str) -> bool:
    """Return whether there are keys below a path."""
    try:
        return refs.children(path, 0, 0).total > 0
    except KeyError:
        return False


def _near(refs: ReferenceSet, path: str) -> str:
    """Suggest similar names in the deepest existing folder, and the command that lists it."""
    folder, _, name = path.strip("/").rpartition("/")
    while not is_folder(refs, folder) and folder:
        folder, _, name = folder.rpartition("/")
    rows = refs.children(folder, 0, _COMPARED).rows
    paths = {row.name.lower(): row.path for row in rows}
    alike = get_close_matches(name.lower(), paths, _SHOWN)
    near = f"; similar: {', '.join(repr(paths[name]) for name in alike)}" if alike else ""
    return f"{near}; {command_for('ls', *filter(None, [folder]))} lists its keys"


_COUNT_SECONDS = 10  # Most seconds for counting a set
_SNAPSHOTS = 20  # Snapshots that are listed, the newest


def repository_facts(refs: ReferenceSet) -> dict[str, Any]:
    """Return the facts about a set's repository, with its newest snapshots; null if unknown."""
    facts = refs.source.repository
    assert facts is not None
    names = ("place", "version", "snapshot", "chunks", "outside", "access")
    repository: dict[str, Any] = {name: getattr(facts, name) for name in names}
    repository |= {"branches": None, "tags": None, "snapshots": None}
    repository["containers"] = facts.containers and [each._asdict() for each in facts.containers]
    if refs.source.place is not None:
        try:
            past = history(refs)
        except RefexplorerError:  # it may have been deleted meanwhile
            return repository
        repository |= {"branches": dict(past.branches), "tags": dict(past.tags)}
        snapshots = past.snapshots(0, _SNAPSHOTS + 1)
        repository["snapshots"] = [
            asdict(each) | {"changes": past.changes(each.parent, each.id) if each.parent else ()}
            for each in snapshots[:_SNAPSHOTS]
        ]
        repository["more_snapshots"] = len(snapshots) > _SNAPSHOTS
    return repository


def write_repository(repository: dict[str, Any]) -> None:
    """Print the facts as tables, and how Icechunk can read the targets."""
    chunks = ", ".join(f"{count:,} {kind}" for kind, count in repository["chunks"].items() if count)
    rows = [
        ("snapshot", repository["snapshot"]),
        ("chunks", chunks or "none"),
        ("branches", _names(repository["branches"])),
        ("tags", _names(repository["tags"])),
    ]
    output.write_line()
    output.write_rows(("Repository", ""), rows)
    if repository["snapshots"]:
        output.write_line()
        columns = ("Snapshot", "Written", "Names", "Message", "Changes")
        output.write_rows(columns, map(_row, repository["snapshots"]))
        if repository["more_snapshots"]:
            output.say("There are older snapshots; in Python, `refexplorer.history` has all.")
    if repository["access"]:
        output.write_line(repository["access"])


def _names(names: dict[str, str] | None) -> str:
    return "not known" if names is None else ", ".join(names) or "none"


def _row(snapshot: dict[str, Any]) -> tuple[str, ...]:
    names = ", ".join([*snapshot["branches"], *snapshot["tags"]])
    changes = "; ".join(snapshot["changes"])
    return snapshot["id"], snapshot["written"], names, snapshot["message"], changes


def print_shard(refs: ReferenceSet, key: str, allow: Collection[str], as_json: bool) -> int:
    """Read and print the index of a shard; exit status 1 if it cannot be read."""
    with naming_missing(refs, key):
        index = refs.allowing(*allow).trace(key, inner=...).shard
    assert index is not None
    names = ("state", "grid", "chunks", "count", "empty", "size", "beyond", "message")
    facts = {name: getattr(index, name) for name in names}
    facts["inner_chunks"] = facts.pop("chunks")
    for name, numbers in (("offsets", index.offsets), ("lengths", index.lengths)):
        facts[name] = None if numbers is None or not as_json else numbers.tolist()
    output.write_answer(index, {"key": key, "shard": facts}, as_json)
    return HAS_ERRORS if index.state is ChunkState.FAILED else status_of(refs)


PAGE_ROWS = 1000  # rows that are requested at a time
TERMINAL_ROWS = 100  # rows on a terminal; a pipe gets all


@app.command()
def ls(
    source: str,
    path: Text = "",
    start: Natural = 0,
    limit: NaturalOrNone = None,
    tree: bool = False,
    as_json: AsJson = False,
) -> int:
    """List one level of the tree."""
    refs = open_set(source)
    path, total = _level_at(refs, path)
    if tree and not as_json:
        output.write_text(tree_text(refs, path))
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
    source: str,
    code: bool = False,
    logins: bool = False,
    allow: Texts = None,
    concat_dim: str | None = None,
    as_json: AsJson = False,
) -> int:
    """Summarize the set: keys, arrays, targets, bytes."""
    refs = open_set(source, concat_dim=concat_dim)
    if logins:
        return _print_logins(refs, allow or [], as_json)
    if code:
        output.write_text(refs.code())
        return status_of(refs)
    inside = internals(refs)
    summary, chunks = inside.counts(within=_COUNT_SECONDS), inside.array_states.total
    is_counted = summary.targets is not None
    found = known_diagnostics(refs)
    facts: dict[str, object] = {
        "source": refs.source.name,
        "form": refs.source.form,
        "keys": refs.count,
        "kinds": {str(k): n for k, n in summary.kinds.items()} if is_counted else None,
        "groups": summary.groups,
        "targets": summary.targets,
        "bytes": summary.bytes,
        "missing": chunks.absent,
        "rejected": chunks.rejected,
        "left_out": len(refs.source.left_out),
        "diagnostics": None if found is None else severities(refs),
    }
    repository = None if refs.source.repository is None else repository_facts(refs)
    fetched = refs.source.fetched
    if as_json:
        more: dict[str, object] = {} if repository is None else {"repository": repository}
        if fetched is not None:
            more["fetched"] = asdict(fetched)
        output.write_json(facts | more, "arrays", _arrays(refs))
        return status_of(refs)
    size = "not known" if summary.bytes is None else f"{summary.bytes:,}{whole_files_text(summary)}"
    listed = facts | {"bytes": size}
    del listed["diagnostics"]
    listed["findings"] = "not checked" if found is None else severities_text(found)
    if not is_counted:  # `ReferenceSet.summary` counts without a time limit
        listed |= dict.fromkeys(("kinds", "targets", "bytes"), "not counted: too many manifests")
    rows = [(name.replace("_", " "), _words(value)) for name, value in listed.items()]
    if fetched is not None:
        rows.append(("read to make it", fetched_text(fetched)))
    output.write_rows(("", ""), rows)
    columns = ("Array", "Shape", "Chunks", "Type", "Codecs", "Chunks without reference", "Rejected")
    output.write_line()
    arrays = list(_arrays(refs))
    output.write_rows(columns, map(_array_row, arrays), always=True)
    for array in arrays:
        if array["inner_count"] is not None:
            output.write_line(_shards_line(array))
    if repository is not None:
        write_repository(repository)
    return status_of(refs)


def _print_logins(refs: ReferenceSet, allow: Collection[str], as_json: bool) -> int:
    """Print which login the targets need; exit status 2 if one was not asked or is silent."""
    found = refs.allowing(*allow).logins()
    if as_json:
        output.write_json({"source": refs.source.name}, "logins", map(asdict, found))
    elif not found:
        output.write_line("All targets are on this machine, or inline.")
    for each in () if as_json else found:
        output.write_text(each)
    return NOT_CHECKED if any(each.answers.startswith("not") for each in found) else 0


@app.command()
def expand(source: str, as_json: AsJson = False, lines: bool = False) -> int:
    """Write the set as V0. The output is always JSON."""
    refs = open_set(source)
    check_expandable(refs.count, refs.limits)
    sentence = f"Expanding {refs.source.name}"
    members = (
        (key, reference.to_v0())
        for key, reference in output.progress(refs.items(), refs.count, sentence)
    )
    if lines and not as_json:
        for key, value in members:
            sys.stdout.write(f"{json.dumps({'key': key, 'value': value})}\n")
    else:
        output.write_object(members, is_data=True)
    return status_of(refs)


def _level_at(refs: ReferenceSet, path: str) -> tuple[str, int]:
    """Return the path, without unneeded slashes, and its rows."""
    for meant in (path, path.strip("/")):
        try:
            return meant, refs.children(meant, 0, 0).total
        except KeyError:
            continue
    raise no_folder(refs, path)


def _nothing_listed(refs: ReferenceSet, path: str, start: int, total: int) -> str:
    if total:
        return f"--start {start:,} is past the last of {counted(total, 'row')}."
    if path in refs:
        return f"{path!r} is a key, not a folder; `refexplorer explain` describes it."
    return f"{refs.source.name} has no keys."


def _level(refs: ReferenceSet, path: str, start: int, total: int) -> Iterator[Node]:
    for first in range(start, total, PAGE_ROWS):
        yield from refs.children(path, first, min(first + PAGE_ROWS, total)).rows


def _arrays(refs: ReferenceSet) -> Iterator[dict[str, Any]]:
    from refexplorer.io.decode.steps import shard_layout

    states = internals(refs).array_states
    for array, counts in zip(states.arrays, states.counts, strict=True):
        layout = shard_layout(array)
        yield {
            "path": array.path,
            "shape": array.shape,
            "chunks": array.chunks
            if array.varying is None
            else [axis.written_form for axis in array.varying],
            "chunk_count": array.chunk_count,
            "inner_chunks": None if layout is None else layout.inner.chunks,
            "inner_count": None if layout is None else layout.inner.chunk_count,
            "dtype": array.dtype,
            "codecs": array.codecs,
            "dimensions": array.dimensions,
            "zarr_format": array.zarr_format,
            "missing": counts.absent,
            "left_out": counts.rejected,
        }


def _shards_line(array: dict[str, Any]) -> str:
    inner = ", ".join(map(str, array["inner_chunks"]))
    shards = counted(array["chunk_count"], "shard")
    return f"{array['path']}: {shards}, {counted(array['inner_count'], 'inner chunk')} of {inner}"


def _array_row(array: dict[str, object]) -> tuple[object, ...]:
    names = ("path", "shape", "chunks", "dtype", "codecs", "missing", "left_out")
    shown = {**array, "dtype": type_name(str(array["dtype"]))}
    return tuple(
        ", ".join(map(str, value)) if isinstance(value, tuple) else value
        for value in (shown[name] for name in names)
    )


def _words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{count:,} {name}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
