from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

import refexplorer as rx
from refexplorer.core.errors import AccessError
from refexplorer.io.access import AccessPolicy, InternetPolicy, allowed_names, is_private
from refexplorer.views.explorer.explorer_controller import ExplorerController


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (home / "a.nc").write_bytes(b"a")
    (home / "sub" / "b.nc").write_bytes(b"b")
    (tmp_path / "secret").write_bytes(b"s")
    return home


def refusal(policy: AccessPolicy, url: str) -> AccessError:
    with pytest.raises(AccessError) as caught:
        policy.place(url)
    assert str(caught.value).endswith(".")
    return caught.value


@pytest.mark.parametrize("url", ["a.nc", "./a.nc", "sub/b.nc", "sub/../a.nc", "missing.nc"])
def test_targets_beside_the_reference_file_are_read(folder: Path, url: str) -> None:
    assert AccessPolicy(str(folder)).place(url).url == str((folder / url).resolve())


@pytest.mark.parametrize("form", ["{}", "file://{}", "file:{}", "local://{}", "FILE://{}"])
def test_every_spelling_of_a_local_file_is_one_place(folder: Path, form: str) -> None:
    policy = AccessPolicy(str(folder))
    assert policy.place(form.format(folder / "a.nc")).url == str((folder / "a.nc").resolve())
    assert refusal(policy, form.format(folder.parent / "secret")).grant == str(folder.parent)


@pytest.mark.parametrize(
    "url", ["../secret", "sub/../../secret", "/etc/passwd", "file:///etc/passwd"]
)
def test_files_elsewhere_wait_for_a_grant(folder: Path, url: str) -> None:
    assert "allow=" in str(refusal(AccessPolicy(str(folder)), url))


def test_a_link_counts_as_what_it_leads_to(folder: Path) -> None:
    (folder / "link.nc").symlink_to(folder.parent / "secret")
    assert refusal(AccessPolicy(str(folder)), "link.nc").grant == str(folder.parent)


def test_a_folder_that_only_begins_alike_is_another(folder: Path) -> None:
    beside = folder.with_name("home2")
    beside.mkdir()
    (beside / "x").write_bytes(b"x")
    refusal(AccessPolicy(str(folder)), "../home2/x")


def test_devices_and_pipes_are_never_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    error = refusal(AccessPolicy(str(folder), allow=["/dev"]), "/dev/zero")
    assert error.grant == ""
    assert "regular" in str(refusal(AccessPolicy(str(folder)), "pipe"))


@pytest.mark.parametrize(
    ("grant", "url"),
    [
        ("s3://bucket", "s3://bucket/a/b.nc"),
        ("s3://bucket/a", "s3a://bucket/a/b.nc"),
        ("gs://bucket", "gcs://bucket/x"),
        ("https://host.example", "https://HOST.example:443/x?y=1"),
        ("https://host.example:8443/", "https://host.example:8443/x"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/x"),
        ("http://[::1]:80", "http://[::1]/x"),
        ("memory://", "memory://a/b"),
        ("https://bücher.example", "https://xn--bcher-kva.example/x"),
    ],
)
def test_a_grant_by_name(grant: str, url: str) -> None:
    policy = AccessPolicy(None)
    assert refusal(policy, url).grant
    policy.grant(grant)
    assert policy.place(url).url
    assert policy.granted == (grant,)


@pytest.mark.parametrize(
    ("grant", "url"),
    [
        ("https://host.example", "http://host.example/x"),
        ("https://host.example", "https://host.example:8443/x"),
        ("https://host.example", "https://host.example.evil.example/x"),
        ("https://host.example", "https://sub.host.example/x"),
        ("https://host.example/data", "https://host.example/data2/x"),
        ("https://host.example/data", "https://host.example/data/../x"),
        ("https://host.example/data", "https://host.example/data/%2e%2e/x"),
        ("https://host.example/data", "https://host.example/data/..%2fx"),
        ("s3://bucket", "s3://bucket2/x"),
        ("s3://bucket/a", "s3://bucket/a/../b"),
        ("s3://bucket", "gs://bucket/x"),
        ("http://s3.amazonaws.com", "http://s3.amazonaws.com@evil.example/f"),
        ("http://s3.amazonaws.com", "http://evil.example\\@s3.amazonaws.com/f"),
        ("http://s3.amazonaws.com", "http://s3.amazonaws.com:80@evil.example/f"),
        ("http://s3.amazonaws.com", "http://evil.example#@s3.amazonaws.com/f"),
    ],
)
def test_a_grant_means_no_other_place(grant: str, url: str) -> None:
    refusal(AccessPolicy(None, allow=[grant]), url)


def test_a_disguised_host_is_named() -> None:
    error = refusal(AccessPolicy(None), "http://s3.amazonaws.com@evil.example/f")
    assert error.grant == "http://evil.example"
    assert "the host is evil.example" in str(error)


@pytest.mark.parametrize(
    "url",
    ["zip://a.nc::http://host/x.zip", "simplecache::s3://b/x", "zip://a/0::/x.zip", "zip://a::b"],
)
def test_chains_are_refused_whatever_is_allowed(url: str) -> None:
    error = refusal(AccessPolicy(None, allow=["http://host", "s3://b"]), url)
    assert error.grant == ""
    assert "chain" in str(error)


@pytest.mark.parametrize(
    "url", ["http://", "https:///x", "s3://", "http://h:99999/x", "http://h\n/x"]
)
def test_a_url_that_names_nothing_is_refused(url: str) -> None:
    refusal(AccessPolicy(None), url)


def test_relative_targets_of_a_remote_set_stay_in_its_folder() -> None:
    policy = AccessPolicy("https://host.example/sets")
    assert policy.place("a/b.nc").url == "https://host.example/sets/a/b.nc"
    assert policy.place("https://host.example/sets/c.nc").url == "https://host.example/sets/c.nc"
    refusal(policy, "../other/b.nc")
    refusal(policy, "/etc/passwd")


def test_a_set_without_a_file_has_no_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert refusal(AccessPolicy(None), "a.nc").grant == str(folder)
    assert AccessPolicy(None, allow=["."]).place("a.nc").url == str(folder / "a.nc")


@pytest.mark.parametrize("name", ["https://", "zip://x::http://host", "file://elsewhere/x"])
def test_an_invalid_grant_is_rejected(name: str) -> None:
    with pytest.raises(AccessError, match="allow="):
        AccessPolicy(None, allow=[name])


@pytest.mark.parametrize("name", ["/data", "http://localhost:1", "http://10.0.0.1", "sftp://host"])
def test_visitors_of_a_served_page_cannot_reach_inside(folder: Path, name: str) -> None:
    policy = AccessPolicy(str(folder), allow=[str(folder / "sub")], served=True)
    assert policy.place("sub/b.nc").url
    refusal(policy, "a.nc")
    with pytest.raises(AccessError, match="--allow"):
        policy.grant(name)
    policy.grant("https://host.example")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "0.0.0.0",
        "100.64.0.1",
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::127.0.0.1",
        "64:ff9b:1:7f00:0:100::",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:0:127.0.0.1",
        "2001:db8::5efe:7f00:1",
        "fec0::1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
    ],
)
def test_addresses_inside_the_network(address: str) -> None:
    assert is_private(address)
    with pytest.raises(AccessError, match="inside"):
        AccessPolicy(None, allow=["http://host.example"]).check_address(
            "http", "host.example", address
        )


def test_addresses_of_the_internet_and_named_ones() -> None:
    policy = AccessPolicy(None, allow=["http://10.0.0.7"])
    policy.check_address("http", "host.example", "93.184.216.34")
    policy.check_address("http", "host.example", "64:ff9b::93.184.216.34")
    policy.check_address("http", "host.example", "10.0.0.7")
    policy.check_address("http", "host.example", "::ffff:10.0.0.7")
    policy.check_address("http", "localhost", "127.0.0.1")


@pytest.mark.parametrize("kind", [AccessPolicy, InternetPolicy])
def test_an_address_is_named_with_its_port(kind: type[AccessPolicy]) -> None:
    """A host name led to any port of an address of which one was named."""
    policy = kind(allow=["http://127.0.0.1:8000", "http://[fd00::7]:81"])
    policy.check_address("http", "host.example", "127.0.0.1", 8000)
    policy.check_address("http", "host.example", "fd00:0::7%eth0", 81)
    for address, port in (("127.0.0.1", 9000), ("127.0.0.1", None), ("fd00::7", 8000)):
        with pytest.raises(AccessError, match="inside"):
            policy.check_address("http", "host.example", address, port)
    with pytest.raises(AccessError, match=r"http://127\.0\.0\.1:9000"):
        policy.check_address("http", "host.example", "::ffff:127.0.0.1", 9000)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1.:8000/x",
        "http://[::ffff:127.0.0.1]:8000/x",
        "http://[::FFFF:7f00:1]:8000/x",
        "http://\uff11\uff12\uff17.0.0.1:8000/x",
    ],
)
def test_every_form_of_an_address_is_one_place(url: str) -> None:
    policy = AccessPolicy(None, allow=["http://127.0.0.1:8000"])
    assert policy.place(url).url == "http://127.0.0.1:8000/x"
    assert AccessPolicy(None, allow=["http://[0:0:0:0:0:0:0:1]"]).place("http://[::1]:80/x").url


@pytest.mark.parametrize(
    "host",
    [
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.1.",
        "%31%32%37.0.0.1",
        "[::1%251]",
        "...",
    ],
)
def test_a_host_that_only_some_take_for_an_address_is_refused(host: str) -> None:
    assert refusal(InternetPolicy(), f"http://{host}/x").grant == ""


@pytest.mark.parametrize(
    "host", ["[::ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[::127.0.0.1]", "[::ffff:0:7f00:1]"]
)
def test_visitors_reach_no_address_inside_in_any_form(host: str) -> None:
    assert "--allow" in str(refusal(InternetPolicy(), f"http://{host}/x"))


def test_a_path_is_granted_as_its_text(folder: Path, tmp_path: Path) -> None:
    by_path = AccessPolicy(str(folder), [tmp_path])
    assert by_path.granted == (str(tmp_path),)
    assert by_path.place(str(tmp_path / "secret")).url == str(tmp_path / "secret")
    assert allowed_names(tmp_path) == allowed_names([tmp_path]) == (str(tmp_path),)
    assert allowed_names("s3://bucket") == ("s3://bucket",)


def test_what_is_no_name_is_refused_in_one_sentence() -> None:
    with pytest.raises(AccessError, match=r"folders, such as .* not 7\.$"):
        AccessPolicy(None, [7])  # type: ignore[list-item]


def test_a_set_takes_names_and_paths_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    refs = rx.open_references({"a": [str(tmp_path / "secret"), 0, 1]})
    for place in (str(tmp_path), tmp_path):
        found = refs.allowing(place).audit(decode="none")
        assert found.files()["state"].to_pylist() == ["found"]
    with pytest.raises(AccessError, match=r"folders, such as .* not \['/data'\]\.$"):
        refs.allowing(["/data"])  # type: ignore[arg-type]


def test_the_same_set_with_another_policy(folder: Path, tmp_path: Path) -> None:
    refs = rx.open_references({"a": [str(tmp_path / "secret"), 0, 1]})
    allowed = refs.allowing(tmp_path, storage_options={"s3": {"anon": True}})
    assert (refs.allowed, refs.storage_options) == ((), {})
    assert allowed.allowing("s3://b").allowed == (str(tmp_path), "s3://b")
    assert len(allowed.filesystem().cat("a")) == 1
    assert len(pickle.loads(pickle.dumps(allowed)).filesystem().cat("a")) == 1
    with pytest.raises(AccessError, match=r"use refs\.allowing"):
        refs.filesystem().cat("a")
    audit = allowed.audit(decode="none")
    assert refs.audited is allowed.audited is audit
    assert ExplorerController(allowed).policy.granted == (str(tmp_path),)


def test_a_folder_that_does_not_exist_is_not_allowed(folder: Path) -> None:
    refs = rx.open_references({"a": "text"})
    for name in (str(folder / "nope"), f"file://{folder}/nope"):
        with pytest.raises(AccessError, match="no existing file or folder"):
            refs.allowing(name)
        with pytest.raises(AccessError, match="no existing file or folder"):
            rx.repair(refs, allow=[name])
    names = str(folder), "s3://bucket/nope", "127.0.0.1", "::1", "data.example.org", "localhost"
    assert refs.allowing(*names).allowed == names
