"""Metadata and chunk keys of arrays that are joined: the bytes of chunks stay as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refexplorer.spec.zarr_metadata import ArrayMeta


def joined_metadata(
    first: ArrayMeta,
    shape: Sequence[int],
    axis: int | None,
    attributes: Mapping[str, Any],
    dimension: str,
) -> Iterator[tuple[str, str]]:
    """Yield the metadata of a joined array by key."""
    document = dict(first.metadata) | {"shape": list(shape)}
    names = [*(first.dimensions or ())]
    chunks = [*first.chunks]
    if axis is None:
        names, chunks = [dimension, *names], [1, *chunks]
    if first.zarr_format == 2:
        yield first.metadata_key, json.dumps(document | {"chunks": chunks})
        said = {**attributes, "_ARRAY_DIMENSIONS": names}
        yield f"{first.folder}.zattrs", json.dumps(said)
        return
    document |= {"attributes": dict(attributes), "dimension_names": names}
    document["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": chunks}}
    if axis is None:
        document["codecs"] = [_with_new_dimension(each) for each in document["codecs"]]  # type: ignore[attr-defined]
    yield first.metadata_key, json.dumps(document)


def moved_key(first: ArrayMeta, index: Sequence[int], axis: int | None, start: int) -> str:
    """Return the key of a chunk in the joined array, in which its own array begins at a chunk."""
    if axis is not None:
        return first.chunk_key([*index[:axis], index[axis] + start, *index[axis + 1 :]])
    parts = [str(number) for number in (start, *index)]
    return first.folder + first.prefix + first.separator.join(parts)


def _with_new_dimension(codec: Any) -> Any:
    """Return a codec of Zarr v3 for chunks that have one more dimension, of length 1, before."""
    if not isinstance(codec, Mapping):
        return codec
    told = dict(codec.get("configuration") or {})
    if codec.get("name") == "transpose":
        told["order"] = [0, *(number + 1 for number in told["order"])]
    elif codec.get("name") == "sharding_indexed":
        told["chunk_shape"] = [1, *told["chunk_shape"]]
        told["codecs"] = [_with_new_dimension(each) for each in told["codecs"]]
    else:
        return codec
    return {**codec, "configuration": told}
