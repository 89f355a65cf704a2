"""Data files on servers: metadata are read in ranges, what was read is told, and no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import h5py
import numpy as np
import pytest
import tifffile

import refexplorer as rx
from refexplorer.core.limits import VisitorLimits
from refexplorer.hosts.page.openings import Openings
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded
from tests.helpers.buckets import KEYS, s3_server
from tests.helpers.commands import run
from tests.helpers.servers import RangeServer, range_server

pytestmark = pytest.mark.server
VALUES = np.arange(60, dtype="<i4").reshape(6, 10)
LARGE = 4_000_000


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("urls") / "a.nc"
    with h5py.File(path, "w") as file:
        file.create_dataset("large", data=np.zeros(LARGE, "u1"))
        file.create_dataset("g/x", data=VALUES, chunks=(4, 5), compression="gzip")
    return path.read_bytes()


@pytest.fixture
def server(content: bytes) -> Iterator[RangeServer]:
    with range_server() as server:
        server.files["/d/a.nc"] = content
        yield server


def test_only_metadata_are_read(server: RangeServer) -> None:
    url = f"{server.url}/d/a.nc"
    refs = rx.open_references(url)
    assert refs.arrays() == ("g/x", "large")
    assert (refs.source.location, refs.source.place) == (f"{server.url}/d", url)
    assert [target.url for target in refs.targets()] == [url]
    fetched = refs.source.fetched
    assert fetched is not None
    assert fetched.size == len(server.files["/d/a.nc"])
    assert fetched.bytes < LARGE / 4
    group: Any = refs.to_zarr()
    assert np.array_equal(group["g/x"][:], VALUES)
    assert rx.open_references(refs.source.place).to_v0() == refs.to_v0()


def test_what_was_read_is_reported(server: RangeServer) -> None:
    ran = run("info", f"{server.url}/d/a.nc", "--json")
    told = json.loads(ran.out)["fetched"]
    assert 0 < told["bytes"] < told["size"]
    ran = run("info", f"{server.url}/d/a.nc")
    assert "to make references" in ran.err
    assert "read to make it" in ran.out


def test_a_visitor_reads_what_the_policy_allows(server: RangeServer) -> None:
    url = f"{server.url}/d/a.nc"
    refs = open_guarded(url, AccessPolicy(None, [server.url], served=True), rx.Limits())
    assert refs.arrays() == ("g/x", "large")
    before = len(server.requests)
    with pytest.raises(rx.errors.AccessError):
        open_guarded(url, AccessPolicy(None, [], served=True), rx.Limits())
    assert len(server.requests) == before


@pytest.mark.child
def test_in_the_process_of_visitors(server: RangeServer, tmp_path: Path) -> None:
    policy = AccessPolicy(None, [server.url, str(tmp_path)], served=True)
    (tmp_path / "a.nc").write_bytes(server.files["/d/a.nc"])
    confined = Openings(VisitorLimits(openings=1))
    for place in (f"{server.url}/d/a.nc", str(tmp_path / "a.nc")):
        refs = confined.open("a.nc", partial(open_guarded, place, policy, rx.Limits()))
        assert refs.arrays() == ("g/x", "large")


@pytest.mark.child
def test_a_visitor_waits_no_longer_than_is_allowed(server: RangeServer) -> None:
    url = f"{server.url}/d/a.nc"
    policy = AccessPolicy(None, [server.url], served=True)
    server.stalled.add("/d/a.nc")
    confined = Openings(VisitorLimits(openings=1, seconds=0.5))
    with pytest.raises(rx.errors.LimitError, match=r"Opening a\.nc took more than 0\.5 s"):
        confined.open("a.nc", partial(open_guarded, url, policy, rx.Limits()))


def test_a_server_without_ranges(server: RangeServer) -> None:
    server.ignores_ranges = True
    with pytest.raises(rx.errors.SourceError, match="sends no byte ranges"):
        rx.open_references(f"{server.url}/d/a.nc")


def test_a_file_that_ends_early(server: RangeServer) -> None:
    server.files["/d/a.nc"] = server.files["/d/a.nc"][:3000]
    with pytest.raises(rx.errors.SourceError, match=r"^a\.nc is a data file, and no references"):
        rx.open_references(f"{server.url}/d/a.nc")


def test_more_than_the_limit_is_not_read(server: RangeServer) -> None:
    limits = rx.Limits(document_bytes=100_000)
    with pytest.raises(rx.errors.LimitError, match=r"100,000 bytes of a\.nc would be read"):
        rx.open_references(f"{server.url}/d/a.nc", limits=limits)


@pytest.mark.parametrize("kind", ["netcdf3", "fits", "tiff"])
def test_other_kinds(kind: str, server: RangeServer, tmp_path: Path) -> None:
    path, name = tmp_path / "made", {"netcdf3": "v", "fits": "PRIMARY", "tiff": ""}[kind]
    if kind == "netcdf3":
        io: Any = pytest.importorskip("scipy.io", reason="scipy is not installed")
        with io.netcdf_file(path, "w") as file:
            file.createDimension("y", 6)
            file.createDimension("x", 10)
            file.createVariable("v", "i4", ("y", "x"))[:] = VALUES
    elif kind == "fits":
        fits: Any = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
        fits.PrimaryHDU(VALUES.astype(">i4")).writeto(path)
    else:
        tifffile.imwrite(path, VALUES.astype("u2"))
    server.files["/f"] = path.read_bytes()
    refs = rx.open_references(f"{server.url}/f")
    group: Any = refs.to_zarr()
    assert np.array_equal((group[name] if name else group)[:], VALUES)
    assert [target.url for target in refs.targets()] == [f"{server.url}/f"]


def test_by_fsspec(content: bytes) -> None:
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe("/urls/a.nc", content)
    try:
        refs = rx.open_references("memory://urls/a.nc")
        group: Any = refs.to_zarr()
        assert np.array_equal(group["g/x"][:], VALUES)
        fetched = refs.source.fetched
        assert fetched is not None
        assert fetched.bytes < LARGE / 4
    finally:
        filesystem.rm("/urls", recursive=True)


@pytest.fixture(scope="module")
def bucket(content: bytes) -> Iterator[dict[str, Any]]:
    """Give the options for a server of S3 with two files in a bucket that is not public."""
    with s3_server() as (endpoint, client):
        client.create_bucket(Bucket="bucket", ACL="private")
        for name in ("d/a.nc", "d/b.nc"):
            client.put_object(Bucket="bucket", Key=name, Body=content, ACL="private")
        yield {"s3": {"endpoint_url": endpoint, **KEYS}}


def test_in_a_bucket(bucket: dict[str, Any], content: bytes) -> None:
    url = "s3://bucket/d/a.nc"
    refs = rx.open_references(url, storage_options=bucket)
    assert refs.arrays() == ("g/x", "large")
    assert (refs.source.location, refs.source.place) == ("s3://bucket/d", url)
    assert [target.url for target in refs.targets()] == [url]
    fetched = refs.source.fetched
    assert fetched is not None
    assert (fetched.size, fetched.bytes < LARGE / 4) == (len(content), True)
    group: Any = refs.to_zarr()
    assert np.array_equal(group["g/x"][:], VALUES)
    (checked,) = refs.check_targets().files().to_pylist()
    assert (checked["state"], checked["size"]) == ("found", len(content))
    assert refs.verify(workers=1).good
    both = rx.open_references([url, "s3://bucket/d/b.nc"], storage_options=bucket)
    assert both.arrays() == ("a.nc/g/x", "a.nc/large", "b.nc/g/x", "b.nc/large")
    with pytest.raises(rx.errors.SourceError, match=r"s3://bucket/d/a\.nc"):
        rx.open_references(url, storage_options={"s3": {**bucket["s3"], "anon": True}})


def test_several(server: RangeServer) -> None:
    server.files["/d/b.nc"] = server.files["/d/a.nc"]
    refs = rx.open_references([f"{server.url}/d/a.nc", f"{server.url}/d/b.nc"])
    assert refs.arrays() == ("a.nc/g/x", "a.nc/large", "b.nc/g/x", "b.nc/large")
    assert refs.source.fetched is not None
    assert refs.source.fetched.size == 2 * len(server.files["/d/a.nc"])
