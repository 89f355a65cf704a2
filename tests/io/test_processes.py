"""A set gives the same values in other processes: spawned, forked, of Dask and of a cluster."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import shutil
import signal
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import h5py
import numpy as np
import pytest
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

import refexplorer as rx
from refexplorer.formats.columns.table import KeyIndex
from refexplorer.refset import opened_set
from refexplorer.refset.opened_set import internals
from tests.helpers.servers import RangeServer
from tests.helpers.sets import raw_set, x_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:Numcodecs codecs are not in the Zarr version 3",
    "ignore:This process .* is multi-threaded",  # what is tested here
)
MONTHS = ("sst_2025-07.nc", "sst_2025-08.nc", "sst_2025-09.nc")
PRELOADED = ["distributed", "xarray", "zarr"]
"""What a server of forks imports once: it stays for the cluster, whose workers are forks, too."""
FORMS = ("V0", "V1", "parquet", "VirtualiZarr", "Icechunk")


def virtual(demo: Path) -> Any:
    virtualizarr = pytest.importorskip("virtualizarr")
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore

    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parser = virtualizarr.parsers.HDFParser()
    urls = [f"file://{demo / name}" for name in MONTHS]
    return virtualizarr.open_virtual_mfdataset(
        urls,
        registry=registry,
        parser=parser,
        combine="nested",
        concat_dim="time",
        coords="minimal",
        compat="override",
        loadable_variables=[],
    )


@pytest.fixture(scope="module")
def sets(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, rx.ReferenceSet]:
    """The demo in every form."""
    names = {"V0": "sst.v0.json", "V1": "sst.v1.json", "parquet": "sst.parq"}
    found = {form: rx.open_references(demo / name) for form, name in names.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = virtual(demo)
        found["VirtualiZarr"] = rx.open_references(dataset)
        found["Icechunk"] = rx.open_references(repository(dataset, tmp_path_factory, demo))
    return found


def repository(dataset: Any, tmp_path_factory: pytest.TempPathFactory, demo: Path) -> Path:
    icechunk: Any = pytest.importorskip("icechunk")
    folder = tmp_path_factory.mktemp("icechunk")
    config = icechunk.RepositoryConfig.default()
    targets = icechunk.local_filesystem_store(str(demo))
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(f"file://{demo}/", targets))
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(folder)), config)
    session = made.writable_session("main")
    dataset.vz.to_icechunk(session.store)
    session.commit("the demo")
    return folder


@pytest.fixture(scope="module")
def expected(demo: Path) -> float:
    """The sum of the raw values of sst, by h5py."""
    total = 0
    for name in MONTHS:
        with h5py.File(demo / name) as file:
            total += int(file["sst"][...].astype("i8").sum())
    return total


def lazy(refs: rx.ReferenceSet, demo: Path, **options: Any) -> Any:
    return refs.allowing(str(demo)).to_xarray(mask_and_scale=False, **options)


def faces(refs: rx.ReferenceSet, demo: Path) -> dict[str, Any]:
    """Return all that may be sent to another process."""
    group: Any = refs.allowing(str(demo)).to_zarr()
    return {
        "set": refs,
        "file system": refs.allowing(str(demo)).filesystem(),
        "store": group.store,
        "group": group,
        "array": group["sst"],
        "dataset": lazy(refs, demo),
        "dask": lazy(refs, demo, chunks={}),
    }


def total(face: str, sent: Any, folder: str) -> int:
    """Sum the raw values of sst."""
    import zarr

    warnings.simplefilter("ignore")
    if face == "set":
        sent = sent.allowing(folder).to_zarr()["sst"]
    elif face == "file system":
        files = AsyncFileSystemWrapper(sent, asynchronous=True)
        sent = zarr.open_group(zarr.storage.FsspecStore(files, read_only=True), mode="r")["sst"]
    elif face == "store":
        sent = zarr.open_group(sent, mode="r")["sst"]
    elif face == "group":
        sent = sent["sst"]
    elif face in ("dataset", "dask"):
        sent = sent.sst.load(scheduler="sync") if face == "dask" else sent.sst
    return int(np.asarray(sent[...]).astype("i8").sum())


@pytest.fixture(scope="module")
def pickled(sets: dict[str, rx.ReferenceSet], demo: Path) -> dict[bytes, tuple[str, str, str]]:
    """The form, the face and the pickler of all that is sent; what both write alike comes once."""
    found: dict[bytes, tuple[str, str, str]] = {}
    for form, refs in sets.items():
        for face, made in faces(refs, demo).items():
            for each in (pickle, cloudpickle):
                data = each.dumps(made, pickle.HIGHEST_PROTOCOL)
                found.setdefault(data, (form, face, each.__name__))
    return found


def answer(connection: Any, folder: str) -> None:
    """Sum what is sent, in a child process, until nothing comes any more."""
    while True:
        sent: dict[tuple[str, str, str], bytes] = connection.recv()
        if not sent:
            return
        found = {}
        for name, data in sent.items():
            try:
                found[name] = total(name[1], pickle.loads(data), folder)
            except Exception as error:
                found[name] = repr(error)  # type: ignore[assignment]
        connection.send(found)


def asked(start: str, sent: dict[Any, bytes], demo: Path) -> dict[Any, Any]:
    """Ask a process that was started in some way."""
    context: Any = multiprocessing.get_context(start)
    context.set_forkserver_preload(PRELOADED)
    ours, theirs = context.Pipe()
    child = context.Process(target=answer, args=(theirs, str(demo)), daemon=True)
    child.start()
    try:
        ours.send(sent)
        assert ours.poll(120), f"no answer from a process started by {start}"
        found: dict[Any, Any] = ours.recv()
        ours.send({})
        child.join(30)
    finally:
        child.kill()
    return found


@pytest.mark.server
@pytest.mark.parametrize("start", ["spawn", "forkserver", "fork"])
def test_every_form_gives_its_values_in_another_process(
    start: str,
    sets: dict[str, rx.ReferenceSet],
    pickled: dict[bytes, tuple[str, str, str]],
    expected: int,
    demo: Path,
) -> None:
    sent = {name: data for data, name in pickled.items()}
    assert total("set", sets["V0"], str(demo)) == expected  # so that a fork has threads behind it
    found = asked(start, sent, demo)
    assert {name: value for name, value in found.items() if value != expected} == {}
    assert {name[:2] for name in found} == {
        (form, face) for form in FORMS for face in faces(sets[form], demo)
    }


def test_reading_goes_on_in_a_fork(demo: Path, expected: int) -> None:
    """The very objects of the parent, with its connections, threads and locks."""
    group: Any = rx.open_references(demo / "sst.v1.json").to_zarr()
    assert int(group["sst"][...].astype("i8").sum()) == expected
    assert forked(lambda: int(group["sst"][...].astype("i8").sum()) == expected)


def test_a_server_is_read_in_a_fork(server: RangeServer) -> None:
    server.files["/f.bin"] = bytes(range(8))
    url = f"{server.url}/f.bin"
    x = x_of(rx.open_references(raw_set([url, 0, 4], [url, 4, 4])), server.url)
    values = x[...].tolist()
    assert forked(lambda: x[...].tolist() == values)
    assert x[...].tolist() == values


def forked(check: Callable[[], bool]) -> bool:
    """Run a check in a fork of this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        signal.alarm(60)
        os._exit(0 if check() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Two processes as Dask starts them, for all tests: each imports Zarr and xarray once."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.server
@pytest.mark.parametrize("form", FORMS)
def test_dask_reads_in_processes(
    form: str,
    pool: ProcessPoolExecutor,
    sets: dict[str, rx.ReferenceSet],
    expected: int,
    demo: Path,
) -> None:
    values = lazy(sets[form], demo, chunks={}).sst.astype("i8").sum()
    assert int(values.compute(scheduler="processes", pool=pool)) == expected


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed: Any = pytest.importorskip("distributed")
    from tests.helpers.audits import cluster_of

    with cluster_of(2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.server
@pytest.mark.parametrize("form", FORMS)
def test_a_cluster_reads_in_two_worker_processes(
    form: str, client: Any, sets: dict[str, rx.ReferenceSet], expected: int, demo: Path
) -> None:
    values = lazy(sets[form], demo, chunks={}).sst.astype("i8")
    assert int(client.compute(values.sum()).result(timeout=120)) == expected


@pytest.mark.server
def test_a_missing_target_is_an_error_in_every_process(
    tmp_path: Path, pool: ProcessPoolExecutor, client: Any
) -> None:
    dataset = (
        rx.open_references(raw_set([str(tmp_path / "gone.bin"), 0, 4]))
        .allowing(str(tmp_path))
        .to_xarray(chunks={}, coordinates=False)
    )
    with pytest.raises(rx.errors.FetchError, match=r"gone\.bin"):
        dataset.x.compute(scheduler="processes", pool=pool)
    with pytest.raises(rx.errors.FetchError, match=r"gone\.bin"):
        client.compute(dataset.x).result(timeout=120)


@pytest.mark.server
def test_a_place_that_is_not_allowed_is_reported_by_a_process(
    pool: ProcessPoolExecutor, client: Any
) -> None:
    dataset = rx.open_references(raw_set(["s3://bucket/f", 0, 4])).to_xarray(
        chunks={}, coordinates=False
    )
    with pytest.raises(rx.errors.AccessError) as caught:
        dataset.x.compute(scheduler="processes", pool=pool)
    assert caught.value.grant == "s3://bucket"
    with pytest.raises(
        rx.errors.AccessError
    ) as caught:  # an error that is its own cause never comes
        client.compute(dataset.x).result(timeout=60)
    assert caught.value.grant == "s3://bucket"


def test_a_pickle_is_columns() -> None:
    count = 20_000
    keys = {
        f"x/{i}": ["s3://bucket/a-long-name-of-a-file.nc", 1000 * i, 1000] for i in range(count)
    }
    refs = rx.open_references(raw_set(shape=[2 * count]) | keys)
    refs.summary()
    refs.diagnostics  # noqa: B018  what was computed stays behind
    assert len(pickle.dumps(refs)) < 40 * count
    gen = {"key": "x/{{i}}", "url": "u", "dimensions": {"i": {"stop": 10**12}}}
    assert len(pickle.dumps(rx.open_references({"version": 1, "gen": [gen]}))) < 10_000


def test_a_process_opens_a_set_once(demo: Path) -> None:
    data = pickle.dumps(rx.open_references(demo / "sst.v0.json"))
    first, second = pickle.loads(data), pickle.loads(data)
    assert internals(first).opened is internals(second).opened
    assert internals(first).opened.tree is internals(second).opened.tree


def test_everything_is_reported_as_before(demo: Path) -> None:
    for name in ("broken.json", "sst.v1.json", "sst.parq"):
        refs = rx.open_references(demo / name)
        again = pickle.loads(pickle.dumps(refs))
        assert again.diagnostics == refs.diagnostics
        assert again.summary() == refs.summary()
        assert again.to_v0() == refs.to_v0()
        for key in list(refs)[:20]:
            assert again.explain(key) == refs.explain(key)
        assert list(again.find("sst*")) == list(refs.find("sst*"))


def test_templates_that_cannot_be_read_travel_too() -> None:
    text = json.dumps(
        {"version": 1, "templates": {"u": "{{ open('x') }}", "n": 3},
         "refs": {"a": ["{{u}}", 0, 1], "b": ["{{nowhere}}", 0, 1], "c": "text"}}
    )  # fmt: skip
    refs = rx.open_references(text)
    again = pickle.loads(pickle.dumps(refs))
    assert again.diagnostics == refs.diagnostics
    assert [again.rejection(key) for key in "abc"] == [refs.rejection(key) for key in "abc"]


def test_a_store_that_is_not_there_is_no_fill_value(demo: Path, tmp_path: Path) -> None:
    """A worker on another machine, which does not see the folder of the set."""
    folder = tmp_path / "sst.parq"
    shutil.copytree(demo / "sst.parq", folder)
    data = pickle.dumps(rx.open_references(folder).allowing(str(demo)).to_zarr())
    folder.rename(tmp_path / "elsewhere")
    group = pickle.loads(data)
    with pytest.raises(rx.errors.FetchError, match=r"refs\.0\.parq"):
        group["sst"][...]


def test_a_document_that_is_not_there_takes_only_lines_away(demo: Path, tmp_path: Path) -> None:
    copy = tmp_path / "broken.json"
    copy.write_bytes((demo / "broken.json").read_bytes())
    refs = rx.open_references(copy)
    data, told = pickle.dumps(refs), refs.diagnostics
    copy.unlink()
    again = pickle.loads(data)
    assert [each.pointer for each in again.diagnostics] == [each.pointer for each in told]
    assert {each.line for each in again.diagnostics} == {None}
    assert str(again.explain("sst/0.0.0").reference) == str(refs["sst/0.0.0"])


def test_an_index_that_does_not_find_its_keys_is_an_error() -> None:
    refs = rx.open_references(raw_set("\0\0\0\0", "\1\1\1\1"))
    index = internals(refs).opened.table.index
    index._marks[:] = np.sort(index._marks ^ np.uint64(2**60))
    with pytest.raises(rx.errors.InternalError, match="5 explicit keys"):
        x_of(refs, "/")[...]


def test_a_key_that_look_up_loses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    refs = rx.open_references(raw_set("\0\0\0\0", "\1\1\1\1"))
    monkeypatch.setattr(KeyIndex, "find", lambda self, key: None)
    with pytest.raises(rx.errors.InternalError, match="'x/0', a key of refs"):
        x_of(refs, "/")[...]


def test_a_set_is_checked_where_it_is_unpickled(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(rx.open_references(raw_set("\0\0\0\0")))
    monkeypatch.setattr(KeyIndex, "find", lambda self, key: None)
    with pytest.raises(rx.errors.InternalError, match="'x/0', a key of refs"):
        pickle.loads(data)
    assert not [each for each in opened_set._kept if each.opened.count == 2]


@pytest.mark.parametrize("bug", [KeyError("row"), FileNotFoundError("x"), IsADirectoryError("x")])
@pytest.mark.parametrize("place", ["get", "rejection", "array_of", "array"])
def test_no_bug_becomes_a_fill_value(
    bug: Exception, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zarr takes these errors for a missing chunk, whatever raised them."""
    value = None if place == "rejection" else "\0\0\0\0"
    x = x_of(rx.open_references(raw_set(value)), "/")

    def broken(*_: Any) -> None:
        raise bug

    monkeypatch.setattr(rx.ReferenceSet, place, broken)
    with pytest.raises(rx.errors.InternalError, match=type(bug).__name__):
        x[...]
