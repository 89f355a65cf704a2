from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import numcodecs
import pytest

from refexplorer.io.decode.sizes import recompressed

PACKERS: dict[str, Callable[[bytes], bytes]] = {"zlib": zlib.compress, "gzip": gzip.compress}


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("size", [0, 1, 2**16 - 1, 2**16, 2**17 - 2, 200_000])
def test_numcodecs_decodes_it_to_the_same(name: str, size: int) -> None:
    inside = bytes(at * at % 251 for at in range(size))
    found = recompressed(name, PACKERS[name](inside), size)
    assert found is not None
    assert found.inside == inside
    assert bytes(numcodecs.get_codec({"id": name}).decode(found.packed)) == inside


@pytest.mark.parametrize("name", PACKERS)
def test_what_cannot_be_inflated_once_is_left_to_others(name: str) -> None:
    packed = PACKERS[name](bytes(1000))
    for broken in (b"", packed[:-1], packed[: len(packed) // 2], b"x" + packed, packed[:-9]):
        assert recompressed(name, broken, 1000) is None
    assert recompressed(name, packed[:-6] + b"wrong!", 1000) is None
    assert recompressed(name, packed, 999) is None
    assert recompressed(name, packed + packed, 2000) is None
    assert recompressed("bz2", packed, 1000) is None
