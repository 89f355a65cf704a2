"""DMR++ documents: values as h5py reads the file, references as VirtualiZarr's parser has them."""

from __future__ import annotations

import base64
import warnings
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import h5py
import numpy as np
import pytest

import refexplorer as rx
from refexplorer.io.access import AccessPolicy
from refexplorer.verbs.opening import open_guarded
from tests.helpers.servers import range_server

VALUES = np.arange(60, dtype="<i4").reshape(6, 10)
TYPES = {"<i4": "Int32", "<f4": "Float32", ">i2": "Int16", "|u1": "UInt8", "<f8": "Float64"}
HEAD = (
    '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
    '<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" '
    'xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" dapVersion="4.0" '
    'name="a.nc" dmrpp:href="OPeNDAP_DMRpp_DATA_ACCESS_URL">'
)


def described(data: Any) -> str:
    """Describe a dataset of h5py as Hyrax does."""
    name = data.name.rpartition("/")[2]
    dims = "".join(f'<Dim name="/d{size}"/>' for size in data.shape)
    there = {
        "shuffle": data.shuffle,
        "deflate": data.compression,
        "fletcher32": data.fletcher32,
    }
    filters = [name for name, is_there in there.items() if is_there]
    chunks = list[Any]()
    if data.chunks:
        data.id.chunk_iter(chunks.append)
        sizes = " ".join(map(str, data.chunks))
        inner = f"<dmrpp:chunkDimensionSizes>{sizes}</dmrpp:chunkDimensionSizes>"
        inner += "".join(
            f'<dmrpp:chunk offset="{each.byte_offset}" nBytes="{each.size}" '
            f'chunkPositionInArray="[{",".join(map(str, each.chunk_offset))}]"/>'
            for each in chunks
        )
    else:
        inner = f'<dmrpp:chunk offset="{data.id.get_offset()}" nBytes="{data.nbytes}"/>'
    order = "BE" if data.dtype.byteorder == ">" else "LE"
    fill = quoteattr(str(data.fillvalue))
    kind = TYPES[data.dtype.str]
    return (
        f'<{kind} name="{name}">{dims}<Attribute name="units" type="String"><Value>m</Value>'
        f'</Attribute><Attribute name="k" type="Int32"><Value>1</Value><Value>2</Value></Attribute>'
        f'<dmrpp:chunks compressionType="{" ".join(filters)}" deflateLevel="4" '
        f'fillValue={fill} byteOrder="{order}">{inner}</dmrpp:chunks></{kind}>'
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("x", data=VALUES, chunks=(4, 5), compression="gzip", shuffle=True)
        file.create_dataset("plain", data=VALUES[:, 0].astype("<f4"))
        file.create_dataset("big", data=VALUES[0].astype(">i2"), chunks=(4,), fletcher32=True)
        part = file.create_dataset("g/part", (6, 10), "<i4", chunks=(3, 5), fillvalue=-7)
        part[3:, 5:] = VALUES[3:, 5:]
        file.create_dataset("scalar", data=np.float64(2.5))
        inner = "".join(described(file[name]) for name in ("x", "plain", "big", "scalar"))
        group = described(file["g/part"])
    text = (
        f'{HEAD}<Dimension name="d6" size="6"/><Dimension name="d10" size="10"/>{inner}'
        f'<Group name="g">{group}</Group><Attribute name="HDF5_GLOBAL" type="Container">'
        '<Attribute name="title" type="String"><Value>made here</Value></Attribute></Attribute>'
        "</Dataset>"
    )
    (tmp_path / "a.nc.dmrpp").write_text(text)
    return tmp_path


def test_values_are_those_of_h5py(folder: Path) -> None:
    refs = rx.open_references(folder / "a.nc.dmrpp")
    assert refs.source.form == "DMR++"
    assert refs.error_count == 0
    group: Any = refs.to_zarr()
    assert group.attrs["title"] == "made here"
    assert dict(group["x"].attrs) == {"units": "m", "k": [1, 2], "_ARRAY_DIMENSIONS": ["d6", "d10"]}
    with h5py.File(folder / "a.nc") as file:
        for name in ("x", "plain", "big", "g/part", "scalar"):
            assert np.array_equal(group[name][...], file[name][...]), name
            assert group[name].dtype == file[name].dtype


def test_references_are_those_of_virtualizarr(folder: Path) -> None:
    parsers = pytest.importorskip("virtualizarr.parsers")
    registry = pytest.importorskip("obspec_utils.registry")
    stores = pytest.importorskip("obstore.store")
    url = f"file://{folder}/"
    known = registry.ObjectStoreRegistry({url: stores.LocalStore()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = parsers.DMRPPParser()(f"{url}a.nc.dmrpp", known)
    refs = rx.open_references(folder / "a.nc.dmrpp")
    for name in ("x", "big"):
        manifest = made._group.arrays[name].manifest.dict()
        expected = {key: (each["offset"], each["length"]) for key, each in manifest.items()}
        found = {
            key.rpartition("/")[2]: (value.offset, value.length)
            for key, value in refs.items()
            if key.startswith(f"{name}/") and isinstance(value, rx.Range)
        }
        assert found == expected


def test_of_a_server_and_with_a_url_of_its_own(folder: Path) -> None:
    with range_server() as server:
        text = (folder / "a.nc.dmrpp").read_text()
        server.files = {
            "/a.nc": (folder / "a.nc").read_bytes(),
            "/d/a.nc.dmrpp": text.replace(
                "OPeNDAP_DMRpp_DATA_ACCESS_URL", f"{server.url}/a.nc"
            ).encode(),
        }
        refs = rx.open_references(f"{server.url}/d/a.nc.dmrpp")
        group: Any = refs.allowing(server.url).to_zarr()
        assert np.array_equal(group["x"][:], VALUES)
        assert [target.url for target in refs.targets()] == [f"{server.url}/a.nc"]


def test_a_visitor_may_open_it(folder: Path) -> None:
    policy = AccessPolicy(None, [str(folder)], served=True)
    guarded = open_guarded(str(folder / "a.nc.dmrpp"), policy, rx.Limits())
    assert guarded.to_v0() == rx.open_references(folder / "a.nc.dmrpp").to_v0()


def variable(inner: str, attributes: str = "", kind: str = "Int32", dims: str = "") -> bytes:
    dims = dims or '<Dim size="4"/>'
    body = f"<dmrpp:chunks {attributes}>{inner}</dmrpp:chunks>"
    good = (
        '<Int8 name="good"><Dim size="2"/><dmrpp:chunks><dmrpp:chunk offset="0" nBytes="2"/>'
        "</dmrpp:chunks></Int8>"
    )
    return f'{HEAD}<{kind} name="bad">{dims}{body}</{kind}>{good}</Dataset>'.encode()


CHUNK = '<dmrpp:chunk offset="0" nBytes="16"/>'
SIZES = "<dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>"


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (variable(CHUNK, 'compressionType="szip"'), "the filter szip"),
        (variable(CHUNK, kind="String"), "values of type String"),
        (variable(CHUNK * 2), "several pieces of one chunk"),
        (variable(CHUNK.replace('"0"', '"-1"')), "no whole number"),
        (variable(CHUNK.replace('"16"', '"9999999999999999999"')), "more than 63 bits"),
        (variable(CHUNK.replace("offset", "begin")), "no whole number"),
        (variable(CHUNK, dims='<Dim name="/none"/>'), "the dimension /none"),
        (variable(CHUNK, dims='<Dim size="x"/>'), "a dimension without a length"),
        (variable(CHUNK + SIZES.replace("2", "0")), "chunks of the shape"),
        (variable(CHUNK + SIZES.replace("2", "2 2")), "chunks of the shape"),
        (
            variable(CHUNK.replace("/>", ' chunkPositionInArray="[1]"/>') + SIZES),
            "not at a place of its grid",
        ),
        (
            variable(CHUNK.replace("/>", ' chunkPositionInArray="[8]"/>') + SIZES),
            "not at a place of its grid",
        ),
        (
            variable(CHUNK.replace("/>", ' chunkPositionInArray="[0,0]"/>') + SIZES),
            "another number of dimensions",
        ),
        (variable(CHUNK.replace("/>", ' fm="1"/>')), "chunks that skip a filter"),
        (
            variable("").replace(b"<dmrpp:chunks ></dmrpp:chunks>", b"<dmrpp:vlsa/>"),
            "storage of an unknown kind",
        ),
    ],
)
def test_a_variable_that_is_not_known_is_left_out_aloud(document: bytes, why: str) -> None:
    with pytest.warns(rx.LeftOutWarning, match=r"has variables that are left out: bad ") as told:
        refs = rx.open_references(document)
    assert why in str(told[0].message)
    assert refs.arrays() == ("good",)
    assert not any(key.startswith("bad/") for key in refs)


def test_compact_values_and_filled_chunks() -> None:
    data = base64.b64encode(np.arange(4, dtype="<i4").tobytes()).decode()
    compact = variable("").replace(
        b"<dmrpp:chunks ></dmrpp:chunks>", f"<dmrpp:compact>{data}</dmrpp:compact>".encode()
    )
    refs = rx.open_references(compact)
    assert refs.chunk("bad", (0,)).values.tolist() == [0, 1, 2, 3]  # type: ignore[union-attr]
    filled = variable(
        SIZES + '<dmrpp:chunk fillValue="9" chunkPositionInArray="[2]"/>', 'fillValue="9"'
    )
    refs = rx.open_references(filled)
    assert refs.chunk("bad", (1,)).values.tolist() == [9, 9]  # type: ignore[union-attr]
    with pytest.warns(rx.LeftOutWarning, match="bytes of compact values"):
        rx.open_references(compact.replace(data.encode(), data.encode()[:-4]))


BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE Dataset [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    b'<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" name="dmrpp">&b;</Dataset>'
)
MARKED = b'<Dataset xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" name="f"/>'
OUTSIDE = BOMB.replace(b'"ha"', b'SYSTEM "file:///etc/passwd"')


@pytest.mark.parametrize(
    ("document", "error", "said"),
    [
        (BOMB, rx.SpecError, "declares a document type"),
        (OUTSIDE, rx.SpecError, "declares a document type"),
        (
            HEAD.encode() + b"&nbsp;</Dataset>",
            rx.SpecError,
            "not well-formed XML: undefined entity",
        ),
        (
            b'<?xml version="1.0" encoding="b"?>' + MARKED,
            rx.SpecError,
            "unknown encoding: b; write",
        ),
        (b'<?xml version="1.0" encoding="rot13"?>' + MARKED, rx.SpecError, "not a text encoding"),
        (b'<?xml version="1.0" encoding="idna"?>' + MARKED, rx.SpecError, "'idna' codec failed"),
        (HEAD.encode(), rx.SpecError, "not well-formed XML: no element found in line 2"),
        (HEAD.encode() + b"</Datase>", rx.SpecError, "mismatched tag"),
        (b"<a><!-- dmrpp --></a>", rx.SpecError, "begins with the element a, not with Dataset"),
        (HEAD.encode() + b"<a>" * 300 + b"</a>" * 300, rx.LimitError, "nested deeper than 200"),
        (HEAD.encode() + b"<a/>" * 2000, rx.LimitError, "more than 1,000 elements"),
    ],
)
def test_a_hostile_document(document: bytes, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        rx.open_references(document, limits=rx.Limits(json_lists=1000))
