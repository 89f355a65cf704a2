"""A bucket that is not one of AWS: the repository names its server, and the person allows it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import refexplorer as rx
from tests.helpers.buckets import s3_server
from tests.helpers.commands import run
from tests.helpers.explorer import Host, ask
from tests.helpers.newer_python import has_two

pytestmark = pytest.mark.server
icechunk: Any = pytest.importorskip("icechunk")
VALUES = np.arange(6, dtype="<i4")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as (url, client):
        client.create_bucket(Bucket="misc", ACL="public-read")
        client.put_object(Bucket="misc", Key="a/f.bin", Body=VALUES.tobytes(), ACL="public-read")
        yield url


@pytest.fixture
def repository(endpoint: str, tmp_path: Path) -> Path:
    config = icechunk.RepositoryConfig.default()
    store = icechunk.s3_store(
        region="us-east-1", endpoint_url=endpoint, allow_http=True, force_path_style=True,
        anonymous=True, s3_compatible=True,
    )  # fmt: skip
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer("s3://misc/a/", store))
    path = tmp_path / "repo"
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(path)), config)
    session = made.writable_session("main")
    root = zarr.group(store=session.store)
    root.create_array("x", shape=(6,), chunks=(6,), dtype="i4", compressors=None)
    session.store.set_virtual_ref("x/c/0", "s3://misc/a/f.bin", offset=0, length=24)
    session.commit("made")
    return path


def test_its_server_is_used_once_it_is_allowed_too(endpoint: str, repository: Path) -> None:
    refs = rx.open_references(repository)
    with pytest.raises(rx.errors.AccessError) as caught:
        refs.read("x")
    assert caught.value.grant == "s3://misc"
    with pytest.raises(rx.errors.AccessError, match="is in a bucket of http://127") as caught:
        refs.allowing("s3://misc").read("x")  # else the bucket of AWS would be asked
    assert caught.value.grant == endpoint
    both = refs.allowing("s3://misc", endpoint)
    np.testing.assert_array_equal(both.read("x"), VALUES)
    np.testing.assert_array_equal(both.to_zarr()["x"][:], VALUES)  # type: ignore[index]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(both)).read("x"), VALUES)
    report = both.audit()
    assert report.status == 0, report


def test_options_of_the_person_win(endpoint: str, repository: Path) -> None:
    refs = rx.open_references(repository, storage_options={"s3": {"endpoint_url": endpoint}})
    np.testing.assert_array_equal(refs.allowing("s3://misc").read("x"), VALUES)
    elsewhere = {"s3": {"endpoint_url": "http://127.0.0.1:9", "config_kwargs": {"retries": {}}}}
    refs = rx.open_references(repository, storage_options=elsewhere).allowing("s3://misc", endpoint)
    with pytest.raises(rx.RefexplorerError, match=r"127\.0\.0\.1:9"):
        refs.read("x")


def test_the_command_line_and_the_explorer_ask_for_the_server(
    endpoint: str, repository: Path
) -> None:
    assert endpoint in run("info", repository, "--json").out
    allowed = ["--allow", "s3://misc", "--allow", endpoint]
    assert run("audit", repository, *allowed).status == 0
    refused = run("audit", repository, *allowed[:2])
    assert (refused.status, endpoint in refused.out) == (2, True)
    host = Host(rx.open_references(repository), allow=["s3://misc"])
    reading, _ = host.read("x", [0])
    assert (reading["state"], reading["grant"]) == ("ask", endpoint)
    host.ask("allow", grant=endpoint)
    reading, values = host.read("x", [0])
    assert values.tolist() == VALUES.tolist()


def test_a_served_page_asks_no_server_of_the_network(repository: Path) -> None:
    host = Host(rx.open_references(repository), allow=["s3://misc"], served=True)
    message, _ = ask(host, "chunk.read", array="x", index=[0])
    assert message["reading"]["state"] in ("ask", "failed")
    assert "error" in host.ask("allow", grant=message["reading"]["grant"] or "http://127.0.0.1")


def test_a_conversion_keeps_the_server_or_warns(
    endpoint: str, repository: Path, tmp_path: Path
) -> None:
    refs = rx.open_references(repository)
    with pytest.warns(
        rx.errors.LeftOutWarning, match="V0 cannot store that s3://misc/a/ is at http://127"
    ):
        rx.convert(refs, tmp_path / "set.json", rx.Conversion(form="V0"))
    if not has_two():
        return
    rx.convert(refs, tmp_path / "other", rx.Conversion(form="Icechunk"))
    other = rx.open_references(tmp_path / "other")
    assert other.source.endpoints == {"s3://misc/a/": endpoint}
    np.testing.assert_array_equal(other.allowing("s3://misc", endpoint).read("x"), VALUES)
