"""``explain --shard``: the inner chunks of a shard."""

from __future__ import annotations

from collections.abc import Collection

from refexplorer.cli import output
from refexplorer.cli.commands import HAS_ERRORS, status_of
from refexplorer.data.read.chunk_reader import ChunkState
from refexplorer.errors import RefexplorerError
from refexplorer.referenceset import ReferenceSet


def tell_shard(refs: ReferenceSet, key: str, allow: Collection[str], as_json: bool) -> int:
    """Read the index of a shard and print what it has; exit status 1 if it cannot be read."""
    chunk = refs.array_of(key)
    if chunk is None:
        raise RefexplorerError(f"{key} is no chunk of an array, so it is no shard.")
    found = refs.shard(*chunk, allow=allow)
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
