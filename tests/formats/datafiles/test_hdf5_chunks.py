"""Places of HDF5's chunks in the grid, held against the chunks that HDF5 itself reads there."""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.formats.datafiles.hdf5 import Hdf5File

SHAPE = (5, 2, 9)
LARGEST = [(None, 2, 9), (5, None, 9), (5, 2, None), (None, None, 9), (5, 2, 9), (10, 7, 30)]
PARTS: dict[str, Any] = {
    "all": np.s_[:], "first": np.s_[:1], "one": np.s_[:1, :1, :1], "later": np.s_[2:4, 1:, 3:7]
}  # fmt: skip


@pytest.mark.parametrize("largest", LARGEST, ids=str)
@pytest.mark.parametrize("version", ["earliest", "v108", "v110", "latest"])
def test_each_chunk_is_where_hdf5_reads_it(
    version: str, largest: tuple[int | None, ...], tmp_path: Path
) -> None:
    """HDF5 up to 2.0 gives the wrong places where the one unlimited dimension is not the first."""
    libver: Any = version if version in ("earliest", "latest") else ("earliest", version)
    if version == "v110":
        libver = ("v110", "v110")
    for (name, part), chunks in product(PARTS.items(), [(1, 1, 2), (2, 1, 3)]):
        path = tmp_path / "a.h5"
        with h5py.File(path, "w", libver=libver) as file:
            made = file.create_dataset("x", SHAPE, "i4", chunks=chunks, maxshape=largest)
            made[part] = np.arange(90, dtype="i4").reshape(SHAPE)[part]
        body, expected = path.read_bytes(), {}
        found = Hdf5File(io.BytesIO(body)).chunks("x")
        with h5py.File(path) as file:
            for index in np.ndindex(5, 2, 9):
                if any(at % step for at, step in zip(index, chunks, strict=True)):
                    continue
                try:
                    expected[index] = file["x"].id.read_direct_chunk(index)[1]
                except (OSError, RuntimeError, ValueError):
                    continue
        places = zip(found.indices, found.offsets, found.lengths, strict=True)
        read = {
            tuple((index * chunks).tolist()): body[offset : offset + length]
            for index, offset, length in places
        }
        assert read == expected, (name, chunks)


def test_a_chunk_after_the_end_of_the_file_is_damage() -> None:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.create_dataset("x", data=np.arange(90), chunks=(30,))
        file.create_dataset("y", data=np.arange(90))
    body = bytearray(buffer.getvalue())
    with h5py.File(buffer) as file:
        places = [file["x"].id.get_chunk_info(1).byte_offset, file["y"].id.get_offset()]
    for place in places:  # where the address is written
        at = body.index(place.to_bytes(8, "little"))
        body[at : at + 8] = (2**40).to_bytes(8, "little")
    read = Hdf5File(io.BytesIO(body))
    for name in "xy":
        with pytest.raises(Unread) as caught:
            read.chunks(name)
        assert caught.value.why == "damaged"
