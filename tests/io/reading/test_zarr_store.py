"""Our store answers as Zarr's own store of the same keys does."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
import zarr
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

import refexplorer as rx
from tests.helpers.sets import DEMO

PROTOTYPE = default_buffer_prototype()
PARTS = [
    None, RangeByteRequest(2, 9), RangeByteRequest(0, 1), OffsetByteRequest(5), SuffixByteRequest(4)
]  # fmt: skip


@pytest.fixture
def stores() -> tuple[Store, Store]:
    refs = rx.open_references(DEMO / "sst.v0.json")
    files = refs.filesystem()
    theirs = MemoryStore({key: PROTOTYPE.buffer.from_bytes(files.cat_file(key)) for key in refs})
    opened: Any = refs.to_zarr()
    return opened.store, theirs


def listed(keys: Any) -> list[str]:
    async def found() -> list[str]:
        return sorted([key async for key in keys])

    return asyncio.run(found())


def test_it_lists_as_zarrs_own_store_does(stores: tuple[Store, Store]) -> None:
    ours, theirs = stores
    assert listed(ours.list()) == listed(theirs.list())
    for prefix in ("", "sst/", "sst/1", "nothing"):
        assert listed(ours.list_prefix(prefix)) == listed(theirs.list_prefix(prefix))
    for folder in ("", "sst", "nothing"):
        assert listed(ours.list_dir(folder)) == listed(theirs.list_dir(folder))
    for key in ("sst/0.0.0", ".zgroup", "sst/9.9.9", "sst", ""):
        assert asyncio.run(ours.exists(key)) == asyncio.run(theirs.exists(key))


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_it_gives_the_same_bytes(stores: tuple[Store, Store], part: Any) -> None:
    for key in ("sst/0.0.1", "time/0", "sst/9.9.9", *([] if part else ["sst/.zarray"])):
        ours, theirs = (asyncio.run(each.get(key, PROTOTYPE, part)) for each in stores)
        assert (ours is None) == (theirs is None)
        assert ours is None or theirs is None or ours.to_bytes() == theirs.to_bytes()
        several = stores[0].get_partial_values(PROTOTYPE, [(key, part), ("sst/9", None)])
        assert [each and each.to_bytes() for each in asyncio.run(several)] == [
            theirs and theirs.to_bytes(),
            None,
        ]


def test_it_is_read_only(stores: tuple[Store, Store]) -> None:
    ours, _ = stores
    opened: Any = zarr.open_group(ours, mode="r")
    with pytest.raises(ValueError, match="read-only"):
        opened["sst"][0] = 1
    with pytest.raises(ValueError, match="read-only"):
        zarr.open_group(ours, mode="r+")
    with pytest.raises(ValueError, match="read-only"):
        asyncio.run(ours.delete("sst/0.0.0"))


def test_it_travels(stores: tuple[Store, Store]) -> None:
    ours = pickle.loads(pickle.dumps(stores[0]))
    assert listed(ours.list()) == listed(stores[1].list())
    assert repr(ours) == "<ReferenceStore(sst.v0.json)>"
