"""A file of HDF5 opens although other threads collect garbage of h5py meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Objects of h5py in cycles, which the collector alone frees, as often as it is asked.
PROGRAM = """
import gc, sys, threading
import h5py
import refexplorer as rx

gc.set_threshold(1)
path = sys.argv[1]
for _ in range(20):
    garbage = []
    with h5py.File(path, "r") as file:
        for name in file:
            cycle = [file[name]]
            cycle.append(cycle)
    assert rx.open_references(path).count
print("opened")
"""


@pytest.mark.child
def test_a_file_opens_while_garbage_is_collected(demo: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(demo / "sst_2025-07.nc")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.stdout == "opened\n", ran.stderr
