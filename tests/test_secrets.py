"""Secrets stay where they were given: planted in every place, and searched for in every output."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refexplorer as rx
from tests.helpers.servers import RangeServer

FORMS = ("V0", "V1", "parquet")
SECRET = re.compile(r"CANARY[a-z]+")
ARRAY = {"zarr_format": 2, "shape": [6], "chunks": [1], "dtype": "<i4", "compressor": None,
         "filters": None, "order": "C", "fill_value": 0}  # fmt: skip
ZARRAY, ZGROUP = json.dumps(ARRAY), '{"zarr_format": 2}'
ZATTRS = '{"_ARRAY_DIMENSIONS": ["t"]}'
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
        "auth": ("u", "CANARYauth"), "proxy": "http://p:CANARYhttpproxy@p",
        "client_kwargs": {"headers": {"X-Key": "CANARYheaders"}, "cookies": {"a": "CANARYjar"}},
        "block_size": 1024,
    },
    "gs": {"token": {"private_key": "CANARYprivate", "client_email": "CANARYemail"}},
    "az": {"connection_string": "AccountName=n;AccountKey=CANARYconnection==", "account_name": "n"},
    "abfs": {"sas_token": "sv=1&sig=CANARYsas", "account_key": "CANARYaccount"},
    "sftp": {"passphrase": "CANARYpassphrase", "pkey": object(), "host": "h", "username": "CANARYuser"},
    "ftp": {"host": "h", "password": "CANARYftp", "acct": 12345},
}  # fmt: skip


def references(server: RangeServer) -> dict[str, Any]:
    """An array of six chunks: three that can be read and three that fail, each its own way."""
    host = server.url.partition("://")[2]
    query = {
        "sig": "/d.bin?sv=2026&sig=CANARYazure%3D",
        "goog": "/d.bin?X-Goog-Signature=CANARYgoogle",
        "denied": "/denied?X-Amz-Signature=CANARYdenied&X-Amz-Security-Token=CANARYtoken",
        "gone": "/gone?access_token=CANARYaccess",
    }
    for at, path in enumerate(query.values()):
        server.files[path] = np.arange(at, at + 8, dtype="<i4").tobytes()
    server.files["/d.bin"] = bytes(32)
    server.statuses[query["denied"]] = 403
    server.statuses[query["gone"]] = 404
    return {
        ".zgroup": ZGROUP,
        "x/.zarray": ZARRAY,
        "x/.zattrs": ZATTRS,
        "x/0": [f"{server.url}{query['sig']}", 0, 4],
        "x/1": [f"http://reader:CANARYpassword@{host}/d.bin", 0, 4],
        "x/2": [f"{server.url}{query['goog']}", 0, 4],
        "x/3": [f"{server.url}{query['denied']}", 0, 4],
        "x/4": [f"{server.url}{query['gone']}", 0, 4],
        "x/5": ["http://127.0.0.1:9/closed?token=CANARYclosed", 0, 4],
    }


def templated(refs: dict[str, Any]) -> dict[str, Any]:
    """The same as version 1: two of the secrets come by a template, one in generated keys."""
    url = refs["x/0"][0].replace("CANARYazure", "{{secret}}")
    document = {key: value for key, value in refs.items() if key not in ("x/2",)}
    document["x/0"] = [url, 0, 4]
    gen = {"key": "x/{{i}}", "url": refs["x/2"][0].replace("CANARYgoogle", "{{token}}"),
           "offset": "0", "length": "4", "dimensions": {"i": {"start": 2, "stop": 3}}}  # fmt: skip
    templates = {"secret": "CANARYazure", "token": "CANARYgoogle"}
    return {"version": 1, "templates": templates, "gen": [gen], "refs": document}


@pytest.fixture(params=FORMS)
def source(request: pytest.FixtureRequest, server: RangeServer, tmp_path: Path) -> str:
    """The address of a set, signed but for the parquet store, which is a folder."""
    refs = references(server)
    if request.param == "parquet":
        rx.open_references(refs).to_parquet(tmp_path / "set.parq")
        return str(tmp_path / "set.parq")
    document = refs if request.param == "V0" else templated(refs)
    server.files[f"/set.json{QUERY}"] = json.dumps(document).encode()
    return f"{server.url}/set.json{QUERY}"


def opened(source: str) -> rx.ReferenceSet:
    return rx.open_references(source)


def shown(value: Any) -> str:
    html = value._repr_html_() if hasattr(value, "_repr_html_") else ""
    return f"{value!r}\n{value}\n{html}"
