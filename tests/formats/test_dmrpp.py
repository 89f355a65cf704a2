"""DMR++ documents: values as h5py reads the file, references as VirtualiZarr's parser has them."""

from __future__ import annotations

import base64
import warnings
import zlib
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
            if key.startswith(f"{name}/") and isinstance(value, rx.types.Range)
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


def held(element: str, kind: str = "Int32", dims: str = "") -> bytes:
    """Describe a variable of which the document has the values."""
    return variable("", kind=kind, dims=dims).replace(
        b"<dmrpp:chunks ></dmrpp:chunks>", element.encode()
    )


NO_DIMENSION = "<!-- a scalar -->"
FIXED = '<dmrpp:FixedLengthStringArray string_length="4" pad="null_pad"/>'


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (variable(CHUNK, 'compressionType="szip"'), "the filter szip"),
        (variable(CHUNK, kind="String"), "strings vary in length"),
        (variable(CHUNK, kind="Structure"), "of the type Structure"),
        (variable(CHUNK, kind="Enum"), "enumeration  is not declared"),
        (variable(CHUNK * 2), "several parts of the same chunk"),
        (variable(CHUNK.replace("dmrpp:chunk", "dmrpp:block")), "an unknown way (block)"),
        (variable(CHUNK.replace('"0"', '"-1"')), "not a whole number"),
        (variable(CHUNK.replace('"16"', '"9999999999999999999"')), "more than 63 bits"),
        (variable(CHUNK.replace("offset", "begin")), "not a whole number"),
        (variable(CHUNK, dims='<Dim name="/none"/>'), "dimension /none"),
        (variable(CHUNK, dims='<Dim size="x"/>'), "a dimension without a length"),
        (variable(CHUNK + SIZES.replace("2", "0")), "chunks have the shape"),
        (variable(CHUNK + SIZES.replace("2", "2 2")), "chunks have the shape"),
        (
            variable(CHUNK.replace("/>", ' chunkPositionInArray="[1]"/>') + SIZES),
            "not aligned with its grid",
        ),
        (
            variable(CHUNK.replace("/>", ' chunkPositionInArray="[8]"/>') + SIZES),
            "not aligned with its grid",
        ),
        (
            variable(CHUNK.replace("/>", ' chunkPositionInArray="[0,0]"/>') + SIZES),
            "not one number per dimension",
        ),
        (
            variable(
                SIZES
                + CHUNK.replace("/>", ' fm="1" chunkPositionInArray="[0]"/>')
                + CHUNK.replace("/>", ' chunkPositionInArray="[2]"/>'),
                'compressionType="deflate"',
            ),
            "skip filters or are shuffled",
        ),
        (held("<dmrpp:vlsa/>", "String"), "fewer strings"),
        (held('<dmrpp:vlsa><dmrpp:v c="9">a</dmrpp:v></dmrpp:vlsa>', "String"), "more strings"),
        (held('<dmrpp:vlsa><dmrpp:v s="9">eJwD</dmrpp:v></dmrpp:vlsa>', "String"), "length"),
        (held('<dmrpp:vlsa><dmrpp:v s="9">aaaa</dmrpp:v></dmrpp:vlsa>', "String"), "decompressed"),
        (held("<dmrpp:compact>?</dmrpp:compact>"), "not base64"),
        (held("<dmrpp:other/>"), "an unknown way (other)"),
        (held("<dmrpp:compact>AAAA</dmrpp:compact>" + CHUNK), "unknown way (chunk, compact)"),
    ],
)
def test_a_variable_that_is_not_known_is_left_out_aloud(document: bytes, why: str) -> None:
    with pytest.warns(
        rx.errors.LeftOutWarning, match=r"has variables that are left out: bad "
    ) as told:
        refs = rx.open_references(document)
    assert why in str(told[0].message)
    assert refs.arrays() == ("good",)
    assert not any(key.startswith("bad/") for key in refs)
    (finding,) = (each for each in refs.diagnostics if each.code == "left-out")
    assert "`bad`" in finding.message


def test_compact_values_and_filled_chunks() -> None:
    data = base64.b64encode(np.arange(4, dtype="<i4").tobytes()).decode()
    compact = held(f"<dmrpp:compact>{data}</dmrpp:compact>")
    refs = rx.open_references(compact)
    assert refs.chunk("bad", (0,)).values.tolist() == [0, 1, 2, 3]  # type: ignore[union-attr]
    filled = variable(
        SIZES + '<dmrpp:chunk fillValue="9" chunkPositionInArray="[2]"/>', 'fillValue="9"'
    )
    refs = rx.open_references(filled)
    assert refs.chunk("bad", (1,)).values.tolist() == [9, 9]  # type: ignore[union-attr]
    with pytest.warns(
        rx.errors.LeftOutWarning, match="15 bytes of its values, which does not fit its shape"
    ):
        rx.open_references(compact.replace(data.encode(), data.encode()[:-4]))


def values_of(document: bytes, folder: Path) -> list[Any]:
    (folder / "a.nc").write_bytes(np.arange(4, dtype="<i4").tobytes())
    (folder / "a.nc.dmrpp").write_bytes(document)
    found: list[Any] = rx.open_references(folder / "a.nc.dmrpp").to_xarray()["bad"].values.tolist()
    return found


LONG = "a long text " * 100
PACKED_TEXT = base64.b64encode(zlib.compress(LONG.encode())).decode()
PACKED = base64.b64encode(zlib.compress(np.arange(4, dtype="<i4").tobytes(), 1)).decode()
PLAIN = base64.b64encode(np.arange(4, dtype="<i4").tobytes()).decode()


@pytest.mark.parametrize(
    ("document", "values"),
    [
        # what fills storage is not missing: 0 stays 0
        (variable(CHUNK, 'fillValue="0" byteOrder="LE"'), [0, 1, 2, 3]),
        (variable(CHUNK, 'fillValue="2" compressionType=""'), [0, 1, 2, 3]),
        (variable(SIZES, 'fillValue="7"'), [7, 7, 7, 7]),
        (held(CHUNK), [0, 1, 2, 3]),
        (
            held(f'<dmrpp:chunks fillValue="-99"/><dmrpp:compact>{PLAIN}</dmrpp:compact>'),
            [0, 1, 2, 3],
        ),
        (
            held(f"<dmrpp:missingdata>\n {PACKED[:9]}\n{PACKED[9:]}</dmrpp:missingdata>"),
            [0, 1, 2, 3],
        ),
        (held(f"<dmrpp:missingdata>{PLAIN}</dmrpp:missingdata>"), [0, 1, 2, 3]),
        (
            variable(CHUNK).replace(b"http://xml.opendap.org/", b"https://xml.opendap.org/"),
            [0, 1, 2, 3],
        ),
        (variable(CHUNK).replace(b"DAP/4.0#", b"DAP/4.1#"), [0, 1, 2, 3]),
        # all chunks skip the same filter
        (variable(CHUNK.replace("/>", ' fm="1"/>'), 'compressionType="deflate"'), [0, 1, 2, 3]),
        (
            held(
                '<dmrpp:vlsa><dmrpp:v c="2">a</dmrpp:v><dmrpp:v>b &amp; c</dmrpp:v>'
                f'<dmrpp:v s="{len(LONG)}">{PACKED_TEXT}'
                "</dmrpp:v></dmrpp:vlsa>",
                "String",
            ),
            ["a", "a", "b & c", LONG],
        ),
        (
            held("<dmrpp:compact>YSB0ZXh0AA==</dmrpp:compact>", "String", NO_DIMENSION),
            "a text",
        ),
        (
            variable(CHUNK, kind="Enum", dims='<Dim size="4"/>').replace(
                b'<Enum name="bad">',
                b'<Enumeration name="sky" basetype="Int32"><EnumConst name="clear" value="0"/>'
                b'</Enumeration><Enum name="bad" enum="/sky">',
            ),
            [0, 1, 2, 3],
        ),
        (
            held(FIXED + f"<dmrpp:chunks>{CHUNK}</dmrpp:chunks>", "String"),
            [b"", b"\1", b"\2", b"\3"],
        ),
        (
            held(
                '<dmrpp:chunk offset="8" nBytes="4" dmrpp:href="b.nc"/>',
                dims='<Dim size="1"/>',
            ),
            [5],
        ),
        *(
            (
                held(
                    f'<dmrpp:chunk offset="8" nBytes="4" href="OPeNDAP_DMRpp_{which}_URL"/>',
                    dims='<Dim size="1"/>',
                ),
                values,
            )
            for which, values in (("DATA_ACCESS", [2]), ("MISSING_DATA_ACCESS", [6]))
        ),
    ],
)
def test_every_way_to_hold_values(document: bytes, values: Any, tmp_path: Path) -> None:
    for name, last in (("b.nc", 5), ("a.nc_mvs.h5", 6)):
        (tmp_path / name).write_bytes(np.array([9, 9, last], "<i4").tobytes())
    assert values_of(document, tmp_path) == values


def test_a_missing_value_is_what_the_attribute_declares(tmp_path: Path) -> None:
    declared = variable(CHUNK, 'fillValue="0"').replace(
        b"<dmrpp:chunks",
        b'<Attribute name="_FillValue" type="Int32"><Value>3</Value></Attribute><dmrpp:chunks',
        1,
    )
    found = values_of(declared, tmp_path)
    assert found[:3] == [0, 1, 2]
    assert np.isnan(found[3])


def test_attributes_in_containers() -> None:
    text = HEAD + (
        '<Attribute name="HDF5_GLOBAL" type="Container"><Attribute name="title" type="String">'
        '<Value>t</Value></Attribute></Attribute><Attribute name="CORE" type="Container">'
        '<Attribute name="n" type="Int16"><Value>1</Value><Value>2</Value></Attribute>'
        "</Attribute></Dataset>"
    )
    group: Any = rx.open_references(text.encode()).to_zarr()
    assert dict(group.attrs) == {"title": "t", "CORE": {"n": [1, 2]}}


BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE Dataset [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    b'<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" name="dmrpp">&b;</Dataset>'
)
MARKED = b'<Dataset xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" name="f"/>'
OUTSIDE = BOMB.replace(b'"ha"', b'SYSTEM "file:///etc/passwd"')


@pytest.mark.parametrize(
    ("document", "error", "said"),
    [
        (BOMB, rx.errors.SpecError, "declares a document type"),
        (OUTSIDE, rx.errors.SpecError, "declares a document type"),
        (
            HEAD.encode() + b"&nbsp;</Dataset>",
            rx.errors.SpecError,
            "not well-formed XML: undefined entity",
        ),
        (
            b'<?xml version="1.0" encoding="b"?>' + MARKED,
            rx.errors.SpecError,
            "unknown encoding: b; save",
        ),
        (
            b'<?xml version="1.0" encoding="rot13"?>' + MARKED,
            rx.errors.SpecError,
            "not a text encoding",
        ),
        (
            b'<?xml version="1.0" encoding="idna"?>' + MARKED,
            rx.errors.SpecError,
            "'idna' codec failed|Unsupported error",
        ),
        (HEAD.encode(), rx.errors.SpecError, "not well-formed XML: no element found in line 2"),
        (HEAD.encode() + b"</Datase>", rx.errors.SpecError, "mismatched tag"),
        (
            b"<a><!-- dmrpp --></a>",
            rx.errors.SpecError,
            "begins with the element a, not with a DAP4 Dataset",
        ),
        (
            HEAD.encode() + b"<a>" * 300 + b"</a>" * 300,
            rx.errors.LimitError,
            "nested deeper than 200",
        ),
        (HEAD.encode() + b"<a/>" * 2000, rx.errors.LimitError, "more than 1,000 elements"),
    ],
)
def test_a_hostile_document(document: bytes, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        rx.open_references(document, limits=rx.Limits(json_lists=1000))


def test_notes_on_what_is_written_in_a_set_are_silent(tmp_path: Path) -> None:
    """No reader of sets resolves these URLs, and no store takes these names for keys."""
    document = variable(CHUNK).replace(b'name="a.nc"', 'name="données/é::{{x}} {y}.nc"'.encode())
    document = document.replace(b"ISO-8859-1", b"UTF-8").replace(b'"bad"', '"é: ?"'.encode())
    document = document.replace(b'offset="0" nBytes="2"', b'offset="16" nBytes="2"')
    (tmp_path / "a.nc.dmrpp").write_bytes(document)
    refs = rx.open_references(tmp_path / "a.nc.dmrpp")
    assert "é: ?" in refs.arrays()
    assert [each.code for each in refs.diagnostics] == []
