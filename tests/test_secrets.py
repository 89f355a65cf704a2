"""Secrets stay where they were given: planted in every place, and searched for in every output."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refexplorer as rx
from refexplorer.checks.look.targets import Auditor
from refexplorer.checks.terms import ReadTerms
from refexplorer.core.errors import SecretsWarning
from refexplorer.core.limits import DEFAULT_LIMITS
from refexplorer.core.text import masked_options, masked_text
from refexplorer.hosts.page.page import is_shareable
from refexplorer.hosts.page.server import mask_logs
from refexplorer.views.explorer.explorer_controller import ExplorerController
from refexplorer.views.saved.recording import record
from tests.helpers.commands import run
from tests.helpers.explorer import Host, ask
from tests.helpers.servers import RangeServer, range_server

SECRET = re.compile(r"CANARY[a-z]+")
CLOSED = "http://127.0.0.1:9"
ZARRAY = json.dumps(
    {"zarr_format": 2, "shape": [6], "chunks": [1], "dtype": "<i4", "compressor": None,
     "filters": None, "order": "C", "fill_value": 0}
)  # fmt: skip
PLAIN = {".zgroup": '{"zarr_format": 2}', "x/.zarray": ZARRAY,
         "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["t"]}'}  # fmt: skip
QUERY = "?versionId=3&X-Amz-Credential=CANARYcredential/2026/us&X-Amz-Signature=CANARYdocument"
OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {
        "key": "CANARYkey", "secret": "CANARYsecret", "token": "CANARYsession",
        "client_kwargs": {"endpoint_url": "http://u:CANARYproxy@e/", "aws_secret": "CANARYinner",
                          "region_name": "eu-west-1"},
        "config_kwargs": {"proxies": {"https": "http://p:CANARYproxies@p"}},
    },
    "https": {
        "headers": {"Authorization": "Bearer CANARYbearer", "Cookie": "s=CANARYcookie"},
        "cookies": {"session": "CANARYcookies"}, "params": {"api": "CANARYparams"},
        "auth": ("u", "CANARYauth"), "proxy": "http://p:CANARYhttpproxy@p", "block_size": 1024,
        "client_kwargs": {"headers": {"X-Key": "CANARYheaders"}, "cookies": {"a": "CANARYjar"}},
    },
    "gs": {"token": {"private_key": "CANARYprivate", "client_email": "CANARYemail"}},
    "az": {"connection_string": "AccountName=n;AccountKey=CANARYconnection==", "account_name": "n"},
    "abfs": {"sas_token": "sv=1&sig=CANARYsas", "account_key": "CANARYaccount"},
    "sftp": {"passphrase": "CANARYpassphrase", "pkey": ["CANARYlisted"], "username": "CANARYuser"},
    "ftp": {"host": "h", "password": "CANARYftp", "acct": b"CANARYbytes"},
}  # fmt: skip


def references(server: RangeServer) -> dict[str, Any]:
    """An array of six chunks: three can be read, and three fail, each in its own way."""
    host = server.url.partition("://")[2]
    azure, google, denied, gone = paths = (
        "/d.bin?sv=2026&sig=CANARYazure%3D",
        "/d.bin?X-Goog-Signature=CANARYgoogle",
        "/denied?X-Amz-Signature=CANARYdenied&X-Amz-Security-Token=CANARYtoken",
        "/gone?access_token=CANARYaccess",
    )
    for at, path in enumerate(paths):
        server.files[path] = np.arange(at, at + 8, dtype="<i4").tobytes()
    server.files["/d.bin"] = bytes(32)
    server.statuses |= {denied: 403, gone: 404}
    urls = [
        f"{server.url}{azure}",
        f"http://reader:CANARYpassword@{host}/d.bin",
        f"{server.url}{google}",
        f"{server.url}{denied}",
        f"{server.url}{gone}",
        f"{CLOSED}/closed?token=CANARYclosed",
    ]
    return PLAIN | {f"x/{at}": [url, 0, 4] for at, url in enumerate(urls)}


def templated(refs: dict[str, Any]) -> dict[str, Any]:
    """The same as version 1: two of the secrets are templates, one of them in generated keys."""
    document = {key: value for key, value in refs.items() if key != "x/2"}
    document["x/0"] = [refs["x/0"][0].replace("CANARYazure", "{{secret}}"), 0, 4]
    gen = {"key": "x/{{i}}", "url": refs["x/2"][0].replace("CANARYgoogle", "{{token}}"),
           "offset": "0", "length": "4", "dimensions": {"i": {"start": 2, "stop": 3}}}  # fmt: skip
    templates = {"secret": "CANARYazure", "token": "CANARYgoogle"}
    return {"version": 1, "templates": templates, "gen": [gen], "refs": document}


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with range_server() as running:
        yield running


@pytest.fixture(params=["V0", "V1", "parquet"])
def source(request: pytest.FixtureRequest, server: RangeServer, tmp_path: Path) -> str:
    """A set by a signed URL; a parquet store is a folder."""
    refs = references(server)
    if request.param == "parquet":
        rx.open_references(refs).to_parquet(tmp_path / "set.parq")
        return str(tmp_path / "set.parq")
    document = refs if request.param == "V0" else templated(refs)
    server.files[f"/set.json{QUERY}"] = json.dumps(document).encode()
    return f"{server.url}/set.json{QUERY}"


def shown(value: Any) -> str:
    html = value._repr_html_() if hasattr(value, "_repr_html_") else ""
    return f"{value!r}\n{value}\n{html}"


def tried(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """What a call gives, or the traceback of what it raises."""
    try:
        return shown(call(*arguments, **options))
    except Exception as error:
        lines = "".join(traceback.format_exception(error))
        return f"{error!r} {getattr(error, 'fact', '')} {lines}"


def without_secrets(named: Iterator[tuple[str, str]]) -> list[str]:
    """Names of outputs, none of which has a secret."""
    seen = dict(named)
    leaks = {name: found for name, text in seen.items() if (found := set(SECRET.findall(text)))}
    assert not leaks
    return [name for name, text in seen.items() if text]


def of_files(folder: Path) -> Iterator[tuple[str, str]]:
    """All text of files, also what is compressed in them."""
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        text = path.read_bytes().decode("latin-1")
        yield path.name, text
        for number, packed in enumerate(re.findall(r"[A-Za-z0-9+/]{200,}=*", text)):
            inside = base64.b64decode(packed)
            if inside.startswith(b"\x1f\x8b"):
                yield f"{path.name} {number}", gzip.decompress(inside).decode("latin-1")
        if path.suffix == ".parquet":
            yield f"{path.name} rows", str(pq.read_table(path).to_pylist())


def test_nothing_that_is_shown_in_python_has_a_secret(source: str, server: RangeServer) -> None:
    refs = rx.open_references(source)
    allow = [server.url, CLOSED]
    allowed = refs.allowing(*allow)

    def outputs() -> Iterator[tuple[str, str]]:
        yield "set", shown(refs)
        yield "tree", shown(refs.children())
        for name in ("source", "diagnostics", "summary", "targets"):
            found = getattr(refs, name)
            yield name, shown(found() if callable(found) else found)
        for key in refs:
            yield f"{key} reference", shown(refs[key])
            yield f"{key} node", shown(refs.node(key))
            yield f"{key} explain", shown(refs.explain(key))
            yield f"{key} code", allowed.code(key)
            yield f"{key} trace", tried(allowed.trace, key)
            yield f"{key} bytes", tried(allowed.filesystem().cat, key)
        yield "code", refs.code() + refs.code("x")
        group, dataset = allowed.to_zarr(), allowed.to_xarray()
        for at in range(6):
            yield f"{at} refused", tried(refs.read, "x", at)
            yield f"{at} read", tried(allowed.read, "x", at)
            yield f"{at} chunk", tried(allowed.chunk, "x", (at,))
            yield f"{at} why", tried(allowed.why, "x", (at,))
            yield f"{at} zarr", tried(group["x"].__getitem__, at)  # type: ignore[index]
            yield f"{at} xarray", tried(dataset["x"][at].load)
        yield "opened", shown(group) + shown(dataset) + repr(dataset.encoding)
        yield (
            "filesystem",
            repr(allowed.filesystem()) + repr(refs.filesystem().targets),
        )
        kept = allowed.read("x", ..., failed="keep")
        yield "failures", f"{shown(kept)} {kept.failures}"
        yield "advise", shown(refs.advise())
        yield "infer", shown(rx.infer(refs))
        other = {**references(server), "x/0": ["https://h/e?sig=CANARYother", 0, 4]}
        yield "diff", shown(rx.diff(refs, rx.open_references(other)))
        found = rx.repair(refs, allow=allow)
        yield "repair", shown(found) + json.dumps(found.to_dict())

    assert len(without_secrets(outputs())) > 90
    assert refs["x/0"].to_v0() == references(server)["x/0"], "what a program reads is data"
    assert refs.to_v0()["x/1"] == references(server)["x/1"]
    assert allowed.chunk("x", (0,)).values.tolist() == [0]  # type: ignore[union-attr]
    assert allowed.chunk("x", (2,)).values.tolist() == [1]  # type: ignore[union-attr]


def test_no_report_has_a_secret_and_each_says_so_before(
    source: str, server: RangeServer, tmp_path: Path
) -> None:
    allowed = rx.open_references(source).allowing(server.url, CLOSED)
    folder = tmp_path / "reports"
    folder.mkdir()

    def outputs() -> Iterator[tuple[str, str]]:
        checks = allowed.check_targets(results=folder / "asked")
        audit = allowed.audit(results=folder / "audited")
        found = allowed.verify(results=folder / "verified")
        for report in (checks, audit, found):
            name = report.terms.verb.replace(" ", "")
            with pytest.warns(SecretsWarning, match=rf"{name}\.html shows addresses without"):
                report.to_html(folder / f"{name}.html")
            yield name, shown(report)
        audit.to_parquet(folder / "audit.parquet")
        found.to_parquet(folder / "verify.parquet")
        found.to_json(folder / "verify.json")
        yield "audit", json.dumps(audit.to_dict()) + shown(checks)
        yield "tables", f"{list(audit.tables())} {audit.files()} {checks.files()} {found.files()}"
        yield "findings", f"{found.findings!r} {found.counts!r} {list(found.tables())}"
        with pytest.warns(SecretsWarning, match=r"page\.html shows addresses without"):
            allowed.to_html(folder / "page.html", read=["x"], check_targets=True)
        yield from of_files(folder)

    names = without_secrets(outputs())
    assert {"page.html 2", "audit.parquet rows", "part-000000.parquet rows"} <= {*names}
    again = allowed.check_targets(results=folder / "asked", resume=True)
    assert again.coverage["files"]["read"] == 3
    assert "changed" not in {each.code for each in again.findings}
    audited = allowed.audit(results=folder / "audited", resume=True)
    assert len(pa.concat_tables(audited.tables())) == 6


def test_nothing_that_a_command_prints_or_writes_has_a_secret(
    source: str, server: RangeServer, tmp_path: Path
) -> None:
    allow = ["--allow", server.url, "--allow", CLOSED]
    other, folder = tmp_path / "other.json", tmp_path / "written"
    folder.mkdir()
    other.write_text(json.dumps(PLAIN | {"x/0": ["https://h/e?sig=CANARYother", 0, 4]}))
    calls: list[list[Any]] = [
        ["ls", source], ["ls", source, "x"], ["ls", source, "--tree"], ["ls", source, "none"],
        ["info", source], ["info", source, "--code"], ["check", source],
        ["check", source, "--targets"], ["check", source, "--targets", *allow],
        *(["explain", source, f"x/{at}"] for at in range(7)), ["find", source, "x/*"],
        ["infer", source], ["dialects", source], ["advise", source], ["diff", source, other],
        *(["why", source, "x", f"{at}", *allow] for at in range(6)),
        ["audit", source], ["audit", source, *allow], ["verify", source, *allow],
        ["repair", source, "--dry-run", *allow],
    ]  # fmt: skip
    pages: list[list[Any]] = [
        ["page", source, "-o", folder / "page.html"],
        ["check", source, "--html", folder / "check.html"],
        ["audit", source, "--html", folder / "audit.html", "--results", folder / "a", *allow],
        ["verify", source, "--html", folder / "verify.html", "--results", folder / "v", *allow],
    ]

    def outputs() -> Iterator[tuple[str, str]]:
        for call in calls:
            for form in ([], ["--json"]):
                status, out, err = run(*call, *form)
                assert status in (0, 1, 2)
                yield f"{call[0]} {call[2:]} {form}", out + err
        for call in pages:
            _, out, err = run(*call)
            assert "shows addresses without their signatures" in err or call[0] == "check"
            yield f"{call[0]} page", out + err
        yield from of_files(folder)

    assert len(without_secrets(outputs())) > 60
    assert SECRET.search(run("expand", source).out), "the document itself is data"


def test_no_message_of_an_explorer_and_no_saved_notebook_has_a_secret(
    source: str, server: RangeServer
) -> None:
    refs = rx.open_references(source)
    allow = [server.url, CLOSED]
    host, second = Host(refs, allow=allow), {**references(server)}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("targets.rows", {"start": 0, "n": 9}),
        ("targets.rows", {"start": 0, "n": 9, "query": {"fold": "folder"}}),
        ("targets.list", {"form": "csv", "query": {}}),
        ("targets.list", {"form": "text", "query": {}}),
        ("targets.check", {}),
        ("targets.summary", {}),
        ("compare.with", {"source": f"{server.url}/none?sig=CANARYcompared"}),
        *(("key.explain", {"path": f"x/{at}"}) for at in range(6)),
        *(("key.trace", {"path": f"x/{at}"}) for at in range(6)),
        *(("key.bytes", {"path": f"x/{at}", "start": 0, "n": 4}) for at in range(6)),
        *(("key.code", {"path": path}) for path in ("", "x", "x/0", "x/3")),
        *(("value.why", {"array": "x", "index": [at]}) for at in range(6)),
    ]

    def outputs() -> Iterator[tuple[str, str]]:
        for op, fields in requests:
            message, buffers = ask(host, op, **fields)
            yield f"{op} {fields}", f"{message} {buffers if op == 'targets.list' else ''}"
        for at in range(6):
            yield f"show {at}", json.dumps(host.ask("key.show", path=f"x/{at}"))
        yield "events", json.dumps(host.events) + host.controller.code
        controller = ExplorerController(refs, allow=allow, at_once=True)
        recording = record(controller, read=[("x", None)], keys=99, check_targets=True)
        yield "recording", repr(vars(recording))
        widget = rx.explore(refs, allow=allow)
        widget.selection = "x/1"
        yield "widget", f"{widget._repr_mimebundle_()} {widget.get_state()}"

    assert len(without_secrets(outputs())) > 40
    rows = ask(host, "targets.rows", start=0, n=9)[0]["rows"]
    for row, url in zip(rows, (second[f"x/{at}"][0] for at in range(6)), strict=False):
        if refs.source.form != "V1":  # generated keys come last
            assert row["url"].partition("?")[0] == re.sub("//.*@", "//***@", url).partition("?")[0]
        layout = ask(host, "target.show", url=row["url"])[0]["layout"]
        assert layout["url"] == row["url"]
        assert ask(host, "tree.target", url=row["url"])[0]["total"] == 1


def test_targets_that_look_alike_are_distinguished() -> None:
    urls = [f"https://h/f?sig={sign}" for sign in ("one", "two")]
    host = Host({f"x/{at}": [url, 0, 4] for at, url in enumerate(urls)})
    rows = ask(host, "targets.rows", start=0, n=9)[0]["rows"]
    assert [row["url"] for row in rows] == [f"https://h/f?sig=*** ({n})" for n in (1, 2)]
    shown = ask(host, "target.show", url=rows[1]["url"])[0]["layout"]
    assert [each["key"] for each in shown["shown"]] == ["x/1"]
    assert (
        "choose one by its number"
        in ask(host, "target.show", url="https://h/f?sig=***")[0]["error"]
    )


def test_code_names_the_options_that_were_given_and_none_of_their_secrets() -> None:
    places = {"s3": "s3://b/f", "https": "https://h/f", "gs": "gs://b/f", "az": "az://b/f",
              "abfs": "abfs://c@a.dfs.core.windows.net/f", "sftp": "sftp://h/f",
              "ftp": "ftp://h/f"}  # fmt: skip

    def outputs() -> Iterator[tuple[str, str]]:
        for name, url in places.items():
            options = {name: OPTIONS[name]}
            given = PLAIN | {"x/0": [url, 0, 4]}
            refs = rx.open_references(given, storage_options=options)
            for key in (None, "x", "x/0"):
                text = refs.allowing(url).code(key)
                compile(text, "cell", "exec")
                yield f"{name} {key}", text
            yield f"{name} set", shown(refs)
            yield f"{name} masked", repr(masked_options(OPTIONS[name]))
            yield f"{name} page", repr(rx.explore(refs).get_state())
        auditor = Auditor(ReadTerms(None, (), DEFAULT_LIMITS, OPTIONS))
        yield "what Dask logs", repr(auditor)

    without_secrets(outputs())
    assert masked_options(OPTIONS["s3"]) == {
        "key": "***", "secret": "***", "token": "***",
        "config_kwargs": {"proxies": {"https": "***"}},
        "client_kwargs": {"endpoint_url": "http://***@e/", "aws_secret": "***",
                          "region_name": "eu-west-1"},
    }  # fmt: skip
    text = rx.open_references({"x": ["s3://b/f"]}, storage_options={"s3": OPTIONS["s3"]}).code("x")
    assert text.startswith("# fill in each ***")
    assert "'secret': '***'" in text
    assert "'region_name': 'eu-west-1'" in text
    harmless = {"s3": {"anon": True, "requester_pays": True, "profile": "work"}}
    text = rx.open_references({"x": ["s3://b/f"]}, storage_options=harmless).code("x")
    assert "***" not in text
    assert "'profile': 'work'" in text


@pytest.mark.parametrize(
    "address",
    [
        "{server}/none.json" + QUERY,
        f"http://me:CANARYpw@{CLOSED[7:]}/x.json",
        "http://me:CANARYpw@nohost.invalid/x.json?sig=CANARYdns",
        "http://me:CANARYpart/CANARYslash@h/x",
        "https://me:CANARYpw@h:port/x?sig=CANARYport",
        "s3://key:CANARYpw@b/k.json",
        "foo://u:CANARYpw@h/x?sig=CANARYfoo",
        f"ftp://u:CANARYpw@{CLOSED[7:]}/x",
        f"simplecache::http://u:CANARYpw@{CLOSED[7:]}/x.json",
        "/none/x.json?sig=CANARYlocal",
        "https://u:" + "CANARYlong" * 50 + "@h:port/x",
    ],
)  # fmt: skip
def test_what_cannot_be_opened_is_named_without_its_secrets(
    address: str, server: RangeServer
) -> None:
    address = address.format(server=server.url)

    def outputs() -> Iterator[tuple[str, str]]:
        for verb in ("info", "check", "page"):
            status, out, err = run(verb, address)
            assert (status, out) == (2, "")
            assert "***" in err
            yield verb, err
        with pytest.raises(rx.RefexplorerError) as caught:
            rx.open_references(address)
        yield "error", "".join(traceback.format_exception(caught.value)).replace(repr(address), "")

    without_secrets(outputs())
    assert not is_shareable(address)


def test_check_says_that_signed_addresses_are_secrets_that_expire(server: RangeServer) -> None:
    refs = references(server)
    for document in (refs, templated(refs)):
        found = [each for each in rx.open_references(document).diagnostics
                 if each.code == "signed-url"]  # fmt: skip
        assert {each.severity for each in found} == {"warning"}
        assert sum(each.count for each in found) == 6
        assert "expire" in found[0].message
    public = ["https://h/f?versionId=3", "https://h/f?id=7&format=nc", "s3://b/f", "https://me@h/f",
              "github://org:repository@main/f.nc"]  # fmt: skip
    refs = {f"x/{at}": [url, 0, 4] for at, url in enumerate(public)}
    assert "signed-url" not in {each.code for each in rx.open_references(refs).diagnostics}


def test_a_page_of_the_editor_has_the_text_and_warns_before(tmp_path: Path) -> None:
    refs = {"x": ["https://h/f?sig=CANARYedited", 0, 4]}
    with pytest.warns(SecretsWarning, match="has the text of the set, with signatures"):
        rx.TemplateEditor(refs).to_html(tmp_path / "editor.html")
    (tmp_path / "set.json").write_text(json.dumps(refs))
    found = run("page", tmp_path / "set.json", "--editor", "-o", tmp_path / "editor.html")
    assert "has the text of the set, with signatures" in found.err
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = rx.TemplateEditor({"x": ["https://h/f?versionId=3", 0, 4]})
        plain.to_html(tmp_path / "editor.html")


def test_logs_of_the_server_have_no_secrets(caplog: pytest.LogCaptureFixture) -> None:
    before = logging.getLogRecordFactory()
    mask_logs()
    try:
        asked = "/?source=https%3A//h?sig=CANARYa"
        logging.getLogger("served.access").warning("%d GET %s", 404, asked)
        try:
            raise ValueError("https://h/f?sig=CANARYb")
        except ValueError:
            logging.getLogger("served.application").exception("Uncaught")
    finally:
        logging.setLogRecordFactory(before)
    assert "404 GET /?sig=***" in caplog.text
    assert "Traceback" in caplog.text
    assert not SECRET.search(caplog.text)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("https://h/a/f.nc?versionId=3&X-Amz-Expires=60&X-Amz-Signature=ab: gone",
         "https://h/a/f.nc?versionId=3&X-Amz-Signature=***: gone"),
        ("'https://me:pw@h:8080/f' and (http://h/g?x=1).", "'https://***@h:8080/f' and (http://h/g?***)."),
        ("https://h/f?0123456789abcdef", "https://h/f?***"),
        ("data/f.nc?sv=1&sig=ab%3D", "data/f.nc?sig=***"),
        ("{{u}}?v={{i}}&sig={{s}}", "{{u}}?v={{i}}&sig=***"),
        ("https://h/#access_token=ab", "https://h/#access_token=***"),
        ("AccountName=a;AccountKey=ab==;Suffix=c", "AccountName=a;AccountKey=***;Suffix=c"),
        ('["https://h/f?sig=ab", 0, 4]', '["https://h/f?sig=***", 0, 4]'),
        (r'"https:\/\/me:pw@h\/f?a=1\u0026sig=ab"', '"https://***@h/f?sig=***"'),
        ("https://h/f;jsessionid=ab", "https://h/f;***"),
        ("sftp://me@h/f abfs://c@a.net/f", "sftp://***@h/f abfs://c@a.net/f"),
    ],
)  # fmt: skip
def test_an_address_can_still_be_recognised(text: str, seen: str) -> None:
    assert masked_text(text) == seen
    assert masked_text(seen) == seen


@pytest.mark.parametrize(
    "text",
    [
        "https://h/f?versionId=3", "s3://b/repository@v1.2", "air?.nc", "https://h:80/a@b", "x = 3",
        "http://h/set.json#2", "github://org:repository@main/f.json",
        "Is it at https://h/f?", "abfs://h/f", "reader@example.org", "a::b",
        "is {a=b}? no", "gs://b/a+b=c/f", "units: m s-1; valid_range=0,1", "http://[::1]:80/f",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked_text(text) == text
