from __future__ import annotations

import base64
import json
import socket
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.core.errors import AccessError, DecodeError, FetchError, LimitError
from refexplorer.core.limits import Limits
from refexplorer.io.access import AccessPolicy, is_private, parse
from refexplorer.io.fetch.targets import Targets
from refexplorer.spec.references import Base64
from tests.helpers.servers import RangeServer

BODY = bytes(range(256))


def fetched(refs: rx.ReferenceSet, key: str, *allow: str) -> bytes:
    return Targets(AccessPolicy(None, allow), None, refs.limits).fetch(key, refs[key])


def read(url: str, *span: int, allow: list[str], limits: Limits | None = None) -> bytes:
    refs = rx.open_references({"k": [url, *span]}, limits=limits)
    return fetched(refs, "k", *allow)


def test_what_the_set_holds_needs_no_target() -> None:
    text = "base64:" + base64.b64encode(BODY).decode()
    refs = rx.open_references({"a": "hé", "b": text})
    assert fetched(refs, "a") == "hé".encode()
    assert fetched(refs, "b") == BODY


def test_the_error_for_broken_base64_names_the_key() -> None:
    targets = Targets(AccessPolicy(), None, Limits())
    with pytest.raises(DecodeError, match="k is not valid base64"):
        targets.fetch("k", Base64("base64:@@@"))


def test_a_local_range_and_a_whole_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(BODY)
    folder = str(tmp_path)
    assert read(f"{folder}/f", 10, 5, allow=[folder]) == BODY[10:15]
    assert read(f"file://{folder}/f", allow=[folder]) == BODY


def test_a_range_past_the_end_names_both_numbers(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(BODY)
    with pytest.raises(FetchError, match=r"bytes 250 to 350: only 6 of 100 bytes were"):
        read(f"{tmp_path}/f", 250, 100, allow=[str(tmp_path)])


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"k could not be read from .*: there is no such file"):
        read(f"{tmp_path}/f", 0, 1, allow=[str(tmp_path)])


@pytest.mark.parametrize("ignores_ranges", [False, True])
def test_http_ranges(server: RangeServer, ignores_ranges: bool) -> None:
    server.files["/f"] = BODY
    server.ignores_ranges = ignores_ranges
    assert read(f"{server.url}/f", 10, 5, allow=[server.url]) == BODY[10:15]
    assert read(f"{server.url}/f", allow=[server.url]) == BODY
    with pytest.raises(FetchError, match="6 of 100 bytes"):
        read(f"{server.url}/f", 250, 100, allow=[server.url])


def test_a_range_that_starts_after_the_end(server: RangeServer) -> None:
    server.files["/f"] = BODY
    with pytest.raises(FetchError, match="begins past the end of the file, which has"):
        read(f"{server.url}/f", 1000, 4, allow=[server.url])


def test_nothing_is_asked_of_a_host_that_is_not_allowed(server: RangeServer) -> None:
    with pytest.raises(AccessError) as caught:
        read(f"{server.url}/f", 0, 4, allow=["http://127.0.0.1:1"])
    assert caught.value.grant == server.url
    assert server.requests == []


def test_a_redirect_within_what_is_allowed_is_followed(server: RangeServer) -> None:
    server.files["/f"] = BODY
    server.redirects["/g"] = "/f"
    assert read(f"{server.url}/g", 1, 2, allow=[server.url]) == BODY[1:3]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_redirect_elsewhere_is_not_followed(
    server: RangeServer, other_server: RangeServer, host: str
) -> None:
    other_server.files["/secret"] = BODY
    server.redirects["/f"] = f"http://{host}:{other_server.port}/secret"
    with pytest.raises(AccessError) as caught:
        read(f"{server.url}/f", 0, 4, allow=[server.url])
    assert caught.value.grant == f"http://{host}:{other_server.port}"
    assert other_server.requests == []


def test_a_redirect_out_of_an_allowed_folder_is_not_followed(server: RangeServer) -> None:
    server.files["/secret"] = BODY
    server.redirects["/data/f"] = "/secret"
    with pytest.raises(AccessError):
        read(f"{server.url}/data/f", 0, 4, allow=[f"{server.url}/data"])
    assert server.requests == ["/data/f"]


def test_a_name_that_leads_inside_needs_the_address_too() -> None:
    name = socket.gethostname()
    url = f"http://{name}:1"
    try:
        address = socket.getaddrinfo(name, None, socket.AF_INET)[0][4][0]
    except socket.gaierror:
        pytest.skip("this machine has no name that leads to it")
    if not is_private(str(address)):
        pytest.skip("this machine is on the internet under its name")
    with pytest.raises(AccessError, match=f"{name} resolves to {address}"):
        read(f"{url}/f", 0, 4, allow=[url])
    with pytest.raises(FetchError, match="no connection"):
        read(f"{url}/f", 0, 4, allow=[url, f"http://{address}"])


@pytest.mark.parametrize("user", ["u:geheim\u2100", "u:ge:heim", "u:geheim[", "u:geheim%20\\"])
def test_a_url_that_cannot_be_read_keeps_its_password(user: str) -> None:
    with pytest.raises(AccessError) as refused:
        parse(f"http://{user}@host:12x/f")
    assert "heim" not in str(refused.value)
    assert "is not a valid URL (its host or port cannot be read)." in str(refused.value)


@pytest.mark.parametrize("name", ["127.1", "2130706433", "0x7f.1"])
def test_an_address_in_disguise_is_not_read(server: RangeServer, name: str) -> None:
    server.files["/f"] = BODY
    url = f"http://{name}:{server.port}"
    server.redirects["/away"] = f"{url}/f"
    for asked, allowed in ((f"{url}/f", url), (f"{url}/f", server.url), ("/away", server.url)):
        target = f"{server.url}{asked}" if asked.startswith("/") else asked
        with pytest.raises(AccessError, match=r"write its host as 127\.0\.0\.1"):
            read(target, 0, 4, allow=[allowed])
    assert server.requests == ["/away"]


def test_redirects_without_end(server: RangeServer) -> None:
    server.redirects["/f"] = "/f"
    with pytest.raises(FetchError, match="redirects endlessly"):
        read(f"{server.url}/f", allow=[server.url])


@pytest.mark.parametrize("ignores_ranges", [False, True])
def test_one_read_is_bounded(server: RangeServer, tmp_path: Path, ignores_ranges: bool) -> None:
    server.files["/f"] = BODY
    server.ignores_ranges = ignores_ranges
    (tmp_path / "f").write_bytes(BODY)
    few = Limits(fetch_bytes=100)
    for url, allow in ((f"{server.url}/f", server.url), (f"{tmp_path}/f", str(tmp_path))):
        with pytest.raises(LimitError, match="fetch_bytes"):
            read(url, allow=[allow], limits=few)
        with pytest.raises(LimitError, match="fetch_bytes"):
            read(url, 0, 10**18, allow=[allow], limits=few)
        assert read(url, 20, 100, allow=[allow], limits=Limits(fetch_bytes=120)) == BODY[20:120]


def test_memory_targets() -> None:
    fsspec.filesystem("memory").pipe_file("/refexplorer-test/f", BODY)
    try:
        assert read("memory://refexplorer-test/f", 3, 4, allow=["memory://"]) == BODY[3:7]
        with pytest.raises(FetchError, match="no such file"):
            read("memory://refexplorer-test/g", allow=["memory://"])
    finally:
        fsspec.filesystem("memory").rm("/refexplorer-test", recursive=True)


def test_a_protocol_whose_package_is_missing_or_unknown() -> None:
    with pytest.raises(FetchError, match="no installed package reads nonsense://"):
        read("nonsense://place/f", allow=["nonsense://place"])


def test_a_target_that_the_reader_has_to_name() -> None:
    refs = rx.open_references({"k": [None, 0, 4]})
    with pytest.raises(FetchError, match="has no URL"):
        fetched(refs, "k")


@pytest.mark.parametrize(
    ("url", "advice"),
    [("a.nc", "--rename a.nc=FOLDER/a.nc"), ("d/a.nc", "--rename d/=FOLDER/"), (None, "")],
)
def test_a_missing_relative_file_says_where_it_was_looked_for(
    url: str | None, advice: str, tmp_path: Path
) -> None:
    target = url or f"{tmp_path}/a.nc"
    metadata = {
        "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "compressor": None,
        "filters": None, "order": "C", "fill_value": None,
    }  # fmt: skip
    (tmp_path / "set.json").write_text(
        json.dumps({".zgroup": {"zarr_format": 2}, "x/.zarray": metadata, "x/0": [target, 0, 8]})
    )
    refs = rx.open_references(tmp_path / "set.json").allowing(str(tmp_path))
    message = str(refs.chunk("x", (0,)).message)
    folder = tmp_path / "d" if url == "d/a.nc" else tmp_path
    assert "there is no such file" in message
    assert (f"no such file in {folder}; if its files" in message) is (url is not None)
    assert advice in message
    (checked,) = refs.check_targets().files().to_pylist()
    assert advice in str(checked["message"])
    if url is None:
        return
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "a.nc").write_bytes(np.arange(2, dtype="<i4").tobytes())
    old, _, new = advice.removeprefix("--rename ").partition("=")
    rules = [(old, new.replace("FOLDER", str(moved)))]
    rx.convert(tmp_path / "set.json", tmp_path / "moved.json", rx.Conversion(renames=rules))
    found: Any = rx.open_references(tmp_path / "moved.json").allowing(str(moved)).to_zarr()
    assert found["x"][:].tolist() == [0, 1]
