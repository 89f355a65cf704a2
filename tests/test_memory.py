"""Little address space: small sets open in 1 GB of it, and too little is said in a sentence."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zarr

from tests.helpers.commands import run

GIB = 2**30
SENTENCE = r"There is not enough memory: this process may take .* [MG]B; raise its limit .*\."
ZARRAY = {
    "zarr_format": 2,
    "shape": [3],
    "chunks": [1],
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
    "fill_value": 0,
    "order": "C",
}
SMALL: dict[str, Any] = {
    ".zgroup": '{"zarr_format": 2}',
    "x/.zarray": json.dumps(ZARRAY),
    "x/0": ["target.bin", 0, 4],
    "x/1": ["target.bin", 4, 4],
}
"""Less than a kilobyte."""


STARTER = """
import json, os, sys, traceback
from refexplorer.core.limits import limit_arrow_pool
limit_arrow_pool()
from refexplorer.hosts.cli import load_app, main
load_app()
for line in sys.stdin:
    arguments, out, err = json.loads(line)
    child = os.fork()
    if not child:
        sys.stdout, sys.stderr = open(out, "w"), open(err, "w")
        status = 99
        try:
            status = main(arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def starter() -> Iterator[subprocess.Popen[str]]:
    """What starts each command in a process of its own, and has imported what all of them need.

    It has a gibibyte from its first moment on, as they have.
    """
    with subprocess.Popen(
        [sys.executable, "-c", STARTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (GIB, GIB)),
    ) as started:
        yield started


def in_a_gibibyte(
    starter: subprocess.Popen[str], folder: Path, *arguments: str | Path
) -> tuple[int, str, str]:
    """Run a command; return its status and what it wrote."""
    assert starter.stdin is not None
    assert starter.stdout is not None
    out, err = folder / "out.txt", folder / "err.txt"
    starter.stdin.write(json.dumps([[str(each) for each in arguments], str(out), str(err)]) + "\n")
    starter.stdin.flush()
    return int(starter.stdout.readline()), out.read_text(), err.read_text()


def within(space: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python in so many bytes of address space."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space)),
    )


def written(folder: Path, form: str) -> Path:
    (folder / "target.bin").write_bytes(bytes(12))
    plain = folder / "set.json"
    plain.write_text(json.dumps(SMALL))
    if form == "icechunk":
        return icechunk_repository(folder / "repository")
    path = folder / f"set.{form}"
    if form != "json":
        assert run("convert", plain, path).status == 0
    return path


def icechunk_repository(folder: Path) -> Path:
    """A chunk for each element: enough that the manifest is compressed."""
    icechunk: Any = pytest.importorskip("icechunk", reason="the package icechunk is not installed")
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(folder)))
    session = made.writable_session("main")
    array = zarr.create_array(session.store, name="x", shape=(3,), chunks=(1,), dtype="i4")
    array[:] = 7
    session.commit("three chunks")
    return folder


@pytest.mark.child
@pytest.mark.parametrize("form", ["json", "json.gz", "json.zst", "parq", "icechunk"])
def test_a_small_set_opens_in_a_gibibyte(
    form: str, tmp_path: Path, starter: subprocess.Popen[str]
) -> None:
    status, out, err = in_a_gibibyte(starter, tmp_path, "info", written(tmp_path, form))
    assert (status, err) == (0, "")
    assert "x\t3\t1\t" in out


VERBS = {
    "ls": ["ls", "{}", "--tree"],
    "find": ["find", "{}", "x/*"],
    "explain": ["explain", "{}", "x/0"],
    "expand": ["expand", "{}"],
    "check": ["check", "{}", "--targets", "--allow", "{folder}"],
    "audit": ["audit", "{}", "--allow", "{folder}"],
    "dialects": ["dialects", "{}", "--reader", "fsspec (default)"],
    "infer": ["infer", "{}"],
    "diff": ["diff", "{}", "{}"],
    "convert": ["convert", "{}", "{folder}/out.parq"],
}


@pytest.mark.child
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_works_in_a_gibibyte(
    verb: str, tmp_path: Path, starter: subprocess.Popen[str]
) -> None:
    path = written(tmp_path, "json.gz")
    words = [word.format(path, folder=tmp_path) for word in VERBS[verb]]
    status, _, err = in_a_gibibyte(starter, tmp_path, *words)
    assert status == 0, err


@pytest.mark.child
def test_a_set_of_ten_megabytes_opens_in_a_gibibyte(
    tmp_path: Path, starter: subprocess.Popen[str]
) -> None:
    path = tmp_path / "set.json"
    texts = {f"x/{n}": "a" * 100_000 for n in range(100)}
    path.write_text(json.dumps(texts | {f"y/{n}": [f"s3://b/{n}", n, 4] for n in range(50_000)}))
    status, _, err = in_a_gibibyte(starter, tmp_path, "info", path)
    assert (status, err) == (0, "")


@pytest.mark.child
@pytest.mark.parametrize("space", [768 * 2**20, 1400 * 2**20], ids=["little", "more"])
def test_many_whole_files_are_read_in_little_space(tmp_path: Path, space: int) -> None:
    """With a gibibyte to spare Arrow's own allocator reserved it, and the rest was too little."""
    path = tmp_path / "set.json"
    path.write_text(json.dumps({f"x/{n}": [f"s3://bucket/file-{n}.bin"] for n in range(300_000)}))
    code = "import sys\nfrom refexplorer.hosts.cli import main\n"
    code += "for verb in ('info', 'check'): assert main([verb, sys.argv[1]]) == 0"
    ran = within(space, "-c", code, path)
    assert (ran.returncode, ran.stderr.count("memory")) == (0, 0), ran.stderr


TIGHT = """
import re, resource, sys
{load}
taken = 1024 * int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1])
resource.setrlimit(resource.RLIMIT_AS, (taken + 2**25,) * 2)
{work}
"""
"""32 MiB more than what was loaded takes."""


def tight(load: str, work: str, path: Path) -> subprocess.CompletedProcess[str]:
    code = TIGHT.format(load=load, work=work)
    return within(resource.RLIM_INFINITY, "-c", code, path)


def bulky(folder: Path) -> Path:
    """A set that takes far more than 32 MiB."""
    path = folder / "bulky.json"
    path.write_text(json.dumps({f"x/{n}": f"{n:0400}" for n in range(100_000)}))
    return path


@pytest.mark.child
def test_a_command_says_how_much_memory_there_was(tmp_path: Path) -> None:
    load = "from refexplorer.hosts.cli import main; main(['check', '/dev/null'])"
    ran = tight(load, "sys.exit(main(['check', sys.argv[1]]))", bulky(tmp_path))
    assert ran.returncode == 2
    said = ran.stderr.splitlines()[-1]
    assert re.fullmatch(SENTENCE, said.removeprefix("refexplorer: ")), said


@pytest.mark.child
def test_opening_in_python_says_it_in_an_error_of_ours(tmp_path: Path) -> None:
    load = "import refexplorer as rx; rx.open_references({'a': 'b'}).diagnostics"
    work = (
        "try: rx.open_references(sys.argv[1])\nexcept rx.errors.LimitError as error: print(error)"
    )
    ran = tight(load, work, bulky(tmp_path))
    assert re.fullmatch(SENTENCE, ran.stdout.strip()), ran.stderr


@pytest.mark.child
def test_a_confined_opening_names_the_limit_of_the_process(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom functools import partial\n"
        "from refexplorer.hosts.page.openings import *\n"
        "from refexplorer.verbs.opening import open_references\n"
        "opening = partial(open_references, sys.argv[1])\n"
        "try: Openings(VisitorLimits()).open('it', partial(opening))\n"
        "except LimitError as error: print(error)"
    )
    ran = within(400 * 2**20, "-c", code, bulky(tmp_path))
    assert "419 MB" in ran.stdout, ran.stderr
    assert "`ulimit -v`" in ran.stdout
