"""A damaged data file ends a child process alone, and what opens it gets a sentence."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.formats.datafiles.metadata_transfer import PlainUnpickler
from tests.cases import FOLDER
from tests.helpers.servers import range_server

pytestmark = pytest.mark.child
DAMAGED = sorted((FOLDER / "damaged").glob("bit-flipped*.h5"))
"""Files whose reading ends the process in libhdf5 1.14."""
FAILED = r"is a data file, and no references can be made to it: .+\."


def ran(code: str, *arguments: str | Path, folder: Path | None = None) -> tuple[int, str, str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return found.returncode, found.stdout, found.stderr


def sound(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(6)
    return path


@pytest.mark.parametrize("damaged", DAMAGED, ids=lambda path: path.name)
def test_a_command_says_that_a_file_is_damaged(damaged: Path) -> None:
    code = (
        "import sys; from refexplorer.hosts.cli import main; sys.exit(main(['info', sys.argv[1]]))"
    )
    status, out, err = ran(code, damaged)
    assert (status, out) == (2, "")
    assert err.startswith(f"refexplorer: {damaged.name} is a data file, and no references")
    assert err.count("\n") == 1


@pytest.mark.parametrize("damaged", DAMAGED, ids=lambda path: path.name)
def test_who_opens_a_damaged_file_goes_on(damaged: Path, tmp_path: Path) -> None:
    code = (
        "import sys; import refexplorer as rx\n"
        "try:\n    rx.open_references(sys.argv[1])\n"
        "except rx.errors.SourceError as error:\n    print(error)\n"
        "print(rx.open_references(sys.argv[2]).arrays())"
    )
    status, out, err = ran(code, damaged, sound(tmp_path / "a.h5"))
    assert (status, err) == (0, "")
    assert out.splitlines()[1] == "('x',)"


def test_of_a_file_damaged_in_part_the_rest_is_read() -> None:
    damaged = FOLDER / "damaged/bit-flipped-netcdf.nc"
    with pytest.warns(
        rx.errors.LeftOutWarning, match=r"left out: a \(HDF5 cannot read .*, e \(HDF5"
    ):
        refs = rx.open_references(damaged)
    assert {"a", "e"} == {each.name for each in refs.source.left_out}
    group: Any = refs.to_zarr()
    with h5py.File(damaged) as file:
        for name in refs.arrays():
            expected: Any = file[name]
            assert np.array_equal(group[name][:], expected[:])


@pytest.mark.server
def test_a_damaged_file_of_a_server_is_a_sentence() -> None:
    with range_server() as server:
        server.files["/a.h5"] = DAMAGED[0].read_bytes()
        code = "import sys; import refexplorer as rx; rx.open_references(sys.argv[1])"
        status, _, err = ran(code, f"{server.url}/a.h5")
    assert status == 1
    assert "SourceError: a.h5 is a data file, and no references" in err


def test_each_of_several_files_is_read_apart(tmp_path: Path) -> None:
    code = "import sys; import refexplorer as rx; rx.open_references(sys.argv[1:], concat_dim='t')"
    status, _, err = ran(code, sound(tmp_path / "a.h5"), DAMAGED[0])
    assert status == 1
    assert f"{DAMAGED[0].name} is a data file, and no references" in err


@pytest.mark.parametrize("name", ["h5py", "kerchunk", "json", "refexplorer"])
def test_no_module_of_the_working_directory_is_run(name: str, tmp_path: Path) -> None:
    """Who downloads a file into a folder of others' files does not run these."""
    (tmp_path / f"{name}.py").write_text("open('was-run', 'w')")
    code = (
        "import sys; sys.path.remove('')\n"  # which `-c` puts there, and the command does not
        "from refexplorer.hosts.cli import main; sys.exit(main(['info', sys.argv[1]]))"
    )
    status, _, err = ran(code, sound(tmp_path / "a.h5"), folder=tmp_path)
    assert (status, err) == (0, "")
    assert not (tmp_path / "was-run").exists()


def test_without_child_processes_there_is_one_warning(tmp_path: Path) -> None:
    code = (
        "import sys, warnings; sys.executable = ''; import refexplorer as rx\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(2): print(rx.open_references(sys.argv[1]).arrays())\n"
        "print(*[each.message for each in caught], sep='\\n')"
    )
    _, out, err = ran(code, sound(tmp_path / "a.h5"))
    first, second, *said = out.splitlines()
    assert (first, second, err) == ("('x',)", "('x',)", "")
    assert said == [
        "This Python cannot start processes, so data files are read in this one: a damaged file "
        "can end it."
    ]


def test_an_answer_holds_no_objects() -> None:
    """A process that a file damaged may answer anything; nothing of it is run here."""
    with pytest.raises(pickle.UnpicklingError, match="is not a reference"):
        PlainUnpickler(io.BytesIO(pickle.dumps(print))).load()
    plain = {"x/0": ["a.h5", 0, 2**40], "x/.zarray": "{}"}
    assert PlainUnpickler(io.BytesIO(pickle.dumps(plain))).load() == plain
