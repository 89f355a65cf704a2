"""What ``info`` tells of an Icechunk repository, and ``explain --shard`` of a shard."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from refexplorer.cli import output
from refexplorer.cli.nearby import no_key
from refexplorer.cli.program import HAS_ERRORS, status_of
from refexplorer.errors import RefexplorerError
from refexplorer.history import history
from refexplorer.io.reading.readings import ChunkState
from refexplorer.referenceset import ReferenceSet

_SNAPSHOTS = 20
"""Snapshots that are listed, the newest."""


def repository_facts(refs: ReferenceSet) -> dict[str, Any]:
    """Return the facts of the repository of a set, with its newest snapshots; null if unknown."""
    facts = refs.source.repository
    assert facts is not None
    found: dict[str, Any] = {
        "place": facts.place,
        "version": facts.version,
        "snapshot": facts.snapshot,
        "chunks": dict(facts.chunks),
        "branches": None,
        "tags": None,
        "containers": facts.containers and [each._asdict() for each in facts.containers],
        "outside": facts.outside,
        "access": facts.access,
        "snapshots": None,
    }
    if refs.source.place is not None:
        try:
            known = history(refs)
        except RefexplorerError:  # what was opened need not be there any more
            return found
        found |= {"branches": dict(known.branches), "tags": dict(known.tags)}
        snapshots = known.snapshots(0, _SNAPSHOTS + 1)
        found["snapshots"] = [
            asdict(each) | {"changes": known.changes(each.parent, each.id) if each.parent else ()}
            for each in snapshots[:_SNAPSHOTS]
        ]
        found["more_snapshots"] = len(snapshots) > _SNAPSHOTS
    return found


def write_repository(found: dict[str, Any]) -> None:
    """Write them as tables, and what Icechunk needs to read the targets as a sentence."""
    chunks = ", ".join(f"{count:,} {kind}" for kind, count in found["chunks"].items() if count)
    rows = [
        ("snapshot", found["snapshot"]),
        ("chunks", chunks or "none"),
        ("branches", _names(found["branches"])),
        ("tags", _names(found["tags"])),
    ]
    output.write_line()
    output.write_rows(("Repository", ""), rows)
    if found["snapshots"]:
        output.write_line()
        columns = ("Snapshot", "Written", "Names", "Message", "Changes")
        output.write_rows(columns, map(_row, found["snapshots"]))
        if found["more_snapshots"]:
            output.say("There are older snapshots; `refexplorer.history` lists them all.")
    if found["access"]:
        output.write_line(found["access"])


def _names(names: dict[str, str] | None) -> str:
    return "not known" if names is None else ", ".join(names) or "none"


def _row(snapshot: dict[str, Any]) -> tuple[str, ...]:
    names = ", ".join([*snapshot["branches"], *snapshot["tags"]])
    changes = "; ".join(snapshot["changes"])
    return snapshot["id"], snapshot["written"], names, snapshot["message"], changes


def tell_shard(refs: ReferenceSet, key: str, allow: Collection[str], as_json: bool) -> int:
    """Read the index of a shard and print what it has; exit status 1 if it cannot be read."""
    try:
        found = refs.allowing(*allow).trace(key, inner=...).shard
    except KeyError:
        raise no_key(refs, key) from None
    assert found is not None
    if as_json:
        places = {
            name: None if numbers is None else numbers.tolist()
            for name, numbers in (("offsets", found.offsets), ("lengths", found.lengths))
        }
        facts = {
            "state": str(found.state),
            "grid": found.grid,
            "inner_chunks": found.chunks,
            "count": found.count,
            "empty": found.empty,
            "size": found.size,
            "beyond": found.beyond,
            "message": found.message,
        }
        output.write_object({"key": key, "shard": facts | places}.items())
    else:
        for line in str(found).splitlines():
            output.write_line(line)
    return HAS_ERRORS if found.state is ChunkState.FAILED else status_of(refs)
