"""The errors of the first ten minutes name the next thing to type, once, in words of the place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr

import refexplorer as rx
from tests.helpers.commands import run
from tests.helpers.servers import RangeServer

MISSING = ("s3fs", "h5py", "kerchunk")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of modules that cannot be imported, and are found nowhere else."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {MISSING!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import importlib.util\n"
        "before = importlib.util.find_spec\n"
        "def find_spec(name, package=None):\n"
        "    try:\n"
        "        return before(name, package)\n"
        "    except ModuleNotFoundError:\n"
        "        return None\n"
        "importlib.util.find_spec = find_spec\n"
    )
    return folder


def typed(bare: Path, *arguments: str) -> tuple[int, str]:
    """Run a command where packages are missing; return its status and all that it printed."""
    ran = subprocess.run(
        [sys.executable, "-m", "refexplorer", *arguments],
        env=os.environ | {"PYTHONPATH": str(bare)},
        cwd=bare,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


@pytest.fixture
def in_bucket(demo: Path, tmp_path: Path) -> Path:
    refs = json.loads((demo / "sst.v0.json").read_text())
    for key, each in refs.items():
        if isinstance(each, list):
            refs[key] = [f"s3://bucket/{each[0]}", *each[1:]]
    path = tmp_path / "combined.json"
    path.write_text(json.dumps(refs))
    return path


@pytest.mark.child
@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("check", "s3://bucket/combined.json"), "pip install 'refexplorer[s3]'"),
        (("audit", "SET", "--allow", "s3://bucket"), "pip install 'refexplorer[s3]'"),
        (("why", "SET", "sst", "6,10,12", "--allow", "s3://bucket"), "'refexplorer[s3]'"),
        (("verify", "DEMO"), 'pip install "refexplorer[verify]"'),
        (("check", "FILE"), "pip install 'refexplorer[virtual]'"),
        (("preflight", "FILES"), "pip install 'refexplorer[virtual]'"),
    ],
    ids=["set in s3", "audit", "why", "verify", "HDF5", "preflight"],
)
def test_a_missing_package_is_named_once(
    arguments: tuple[str, ...], advice: str, bare: Path, demo: Path, in_bucket: Path
) -> None:
    names = {
        "SET": str(in_bucket),
        "DEMO": str(demo / "sst.v0.json"),
        "FILE": str(demo / "sst_2025-07.nc"),
        "FILES": str(demo / "sst_*.nc"),
    }
    status, printed = typed(bare, *(names.get(word, word) for word in arguments))
    assert status == 2
    assert printed.count(advice) == 1
    assert "Traceback" not in printed
    if arguments[0] == "verify":  # the line below the headline
        assert advice in printed.splitlines()[1]


def test_a_place_that_is_not_allowed_is_named_once(in_bucket: Path) -> None:
    for command in (("audit",), ("verify",), ("why", "sst", "6,10,12")):
        ran = run(command[0], str(in_bucket), *command[1:])
        printed = ran.out + ran.err
        assert ran.status == 2
        assert printed.count("--allow s3://bucket") == 1
        assert printed.lower().count("not allowed yet") <= 2  # the headline, and the reason
        assert "refs." not in printed


def test_in_python_the_advice_is_python(in_bucket: Path) -> None:
    refs = rx.open_references(in_bucket)
    with pytest.raises(rx.errors.AccessError, match=r'refs\.allowing\("s3://bucket"\)') as caught:
        refs.read("sst")
    assert "--allow" not in str(caught.value)


def test_a_wrong_path_says_where_it_was_looked_for(in_bucket: Path) -> None:
    ran = run("check", str(in_bucket.with_name("combine.json")))
    assert ran.err == (
        f"refexplorer: There is no file 'combine.json' in '{in_bucket.parent}'; "
        "the name closest to it is 'combined.json'.\n"
    )
    other = run("check", str(in_bucket.with_name("sst.json")))  # only the ending is alike
    assert "closest" not in other.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "a reference set in JSON begins with {; open a file"),
        ('{"a": 1, "b": [1, 2]}', "Nothing in the document is a reference"),
        ("", "is empty"),
    ],
)
def test_another_file_is_called_one(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(text)
    ran = run("check", str(tmp_path / "other.json"))
    assert ran.status in (1, 2)
    assert words in ran.out + ran.err


@pytest.mark.parametrize(
    "written", [["sst[0,10,-1]"], ["sst", "0", "10", "-1"], ["sst", "0,10,-1"]]
)
def test_an_index_may_be_written_as_people_do(written: list[str], demo: Path) -> None:
    ran = run("why", str(demo / "sst.v0.json"), *written, "--allow", str(demo))
    assert (ran.status, ran.out.partition(":")[0]) == (0, "sst[0, 10, 191]")


@pytest.mark.parametrize("written", [["sst"], ["sst", "0,0"], ["sst[99,0,0]"]])
def test_a_wrong_index_names_one_that_is_right(written: list[str], demo: Path) -> None:
    ran = run("why", str(demo / "sst.v0.json"), *written)
    assert ran.status == 2
    assert ran.err.count(f"`refexplorer why {demo / 'sst.v0.json'} sst 17,95,191`.") == 1


def test_a_folder_names_the_set_in_it(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "refs.json").write_text("{}")
    ran = run("check", str(tmp_path))
    assert ran.err.endswith(f"open '{tmp_path / 'refs.json'}'.\n")
    assert run("why", str(demo / "sst.v0.json"), "sst", "0,0,0", "--alow", ".").err == (
        "refexplorer: No such option: --alow; see `refexplorer why --help`.\n"
    )


def test_a_dataset_that_has_no_references_says_what_to_pass() -> None:
    with pytest.raises(rx.errors.SourceError, match=r'rx\.explore\("combined\.json"\)\.$'):
        rx.explore(xr.Dataset({"a": ("x", [1, 2, 3])}))


@pytest.mark.child
def test_a_missing_codec_is_one_error(tmp_path: Path) -> None:
    metadata = {
        "zarr_format": 2, "shape": [8], "chunks": [4], "dtype": "<f4", "fill_value": None,
        "compressor": {"id": "imagecodecs_lzf"}, "filters": None, "order": "C",
    }  # fmt: skip
    refs: dict[str, object] = {".zgroup": '{"zarr_format": 2}'}
    for name in "xyz":
        refs |= {f"{name}/.zarray": json.dumps(metadata), f"{name}/0": "base64:AAAA"}
        refs[f"{name}/.zattrs"] = '{"_ARRAY_DIMENSIONS": ["t"]}'
    (tmp_path / "set.json").write_text(json.dumps(refs))
    code = (
        "import gc, sys\n"
        "sys.modules['imagecodecs'] = None\n"
        "import refexplorer as rx\n"
        "try:\n"
        "    rx.open_references('set.json').to_xarray()\n"
        "except rx.errors.DecodeError as error:\n"
        "    print(error)\n"
        "gc.collect()\n"
        "for line in str(rx.open_references('set.json').audit()).splitlines():\n"
        "    print(line)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stderr == ""
    needed = "the codec imagecodecs_lzf, which is not installed: `pip install imagecodecs`."
    assert ran.stdout.count(needed) == 2
    assert f"\n  x, y, z require {needed}\n" in ran.stdout


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("set.json", "", "set.json is empty; write or download it again."),
        (
            "README.md",
            "# Title\n\n[a link](b)\n",
            "open a file that kerchunk or VirtualiZarr wrote",
        ),
        (
            "places.json",
            '{"type": "FeatureCollection", "features": [{"type": "Feature"}]}',
            "places.json is GeoJSON, not a reference set; open a file that kerchunk or",
        ),
        (
            ".zmetadata",
            '{"metadata": {".zgroup": {"zarr_format": 2}}, "zarr_consolidated_format": 1}',
            ".zmetadata is the metadata of a Zarr store, not a reference set; "
            "open the folder that it is in.",
        ),
    ],
)
def test_a_file_of_another_kind_says_what_to_open(
    name: str, text: str, advice: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(rx.errors.SourceError) as refusal:
        rx.open_references(tmp_path / name)
    ran = run("check", str(tmp_path / name))
    assert (ran.status, ran.out, ran.err) == (2, "", f"refexplorer: {refusal.value}\n")
    assert advice in ran.err
    assert ran.err.count(". ") == 0  # one sentence


def test_an_empty_path_and_an_empty_folder_say_what_to_open(tmp_path: Path) -> None:
    for source in ("", "  "):
        ran = run("check", source)
        assert ran.status == 2
        assert "The path is empty; pass that of a reference set or data file" in ran.err
    assert "open a file or folder in it" in run("check", str(tmp_path)).err
    (tmp_path / "2024.nc").touch()
    pattern = f"open its data files with '{tmp_path / '*.nc'}'."
    assert pattern in run("check", str(tmp_path)).err
    assert pattern in run("preflight", str(tmp_path)).out


def test_a_dataset_of_a_file_names_the_file(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo)
    with (
        xr.open_dataset("sst_2025-07.nc", engine="h5netcdf") as ds,
        pytest.raises(rx.errors.SourceError, match=r'rx\.explore\("sst_2025-07\.nc"\)\.$') as said,
    ):
        rx.explore(ds)
    assert str(said.value).count("rx.explore") == 1


def test_why_without_an_element_names_one(demo: Path) -> None:
    place = str(demo / "sst.v0.json")
    assert f"`refexplorer why {place} sst 17,95,191`" in run("why", place).err
    ran = run("why", place, "sst/2.0.1")
    assert ran.status == 2
    found = ran.err.partition("its first element is `")[2].partition("`")[0].split()
    first = run(*found[1:], "--allow", str(demo))
    assert "`sst/2.0.1` of the" in first.out


def test_an_array_whose_metadata_cannot_be_used_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps({".zgroup": "{}", "g/.zgroup": "{}", "sst/.zarray": '{"a": 1,}'}))
    ran = run("why", path, "sst", "0,0")
    assert ran.err == (
        "refexplorer: The metadata of 'sst' in set.json cannot be used; "
        f"`refexplorer check {path}` says why.\n"
    )
    assert "not a JSON object: " in run("check", path).out
    with pytest.raises(rx.errors.MissingError, match="metadata cannot be used"):
        rx.open_references(path).array("sst")
    assert "'g' of set.json is not an array" in run("why", path, "g", "0").err


def test_a_login_that_is_missing_is_not_an_error_of_the_set(
    server: RangeServer, tmp_path: Path
) -> None:
    server.statuses["/f.nc"] = 403
    metadata = {
        "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "fill_value": None,
        "compressor": None, "filters": None, "order": "C",
    }  # fmt: skip
    refs = {
        ".zgroup": '{"zarr_format": 2}',
        "x/.zarray": json.dumps(metadata),
        "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["t"]}',
        "x/0": [f"{server.url}/f.nc", 0, 16],
    }
    (tmp_path / "set.json").write_text(json.dumps(refs))
    option = f"--storage-option '{server.url}.headers="
    for command in (("audit",), ("verify",), ("why", "x", "0")):
        ran = run(command[0], str(tmp_path / "set.json"), *command[1:], "--allow", server.url)
        assert ran.status == 2
        assert option in ran.out
        assert "has errors" not in ran.out
        if command != ("why", "x", "0"):
            assert ran.out.startswith("set.json: not known: 1 file was not read: access is denied")
    assert rx.open_references(refs).allowing(server.url).audit().findings == ()


@pytest.mark.child
def test_a_server_that_does_not_answer_names_the_option(bare: Path) -> None:
    ran = run(
        "check",
        "s3://bucket/combined.json",
        "--storage-option",
        "s3.endpoint_url=http://127.0.0.1:9",
    )
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.endswith(
        "no connection to 127.0.0.1:9 could be made; "
        "--storage-option 's3://bucket.endpoint_url=…' sets another server.\n"
    ), ran.err
    assert ran.err.count("\n") == 1
