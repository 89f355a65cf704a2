from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refexplorer as rx
from refexplorer.core.errors import AccessError, DecodeError, FetchError, LimitError
from refexplorer.core.limits import Limits
from refexplorer.io.access import AccessPolicy, parse
from refexplorer.io.fetch.answers import ByteParts
from refexplorer.io.fetch.background import stoppable
from refexplorer.io.fetch.many import FetchProgress, fetch_many
from refexplorer.io.fetch.targets import MERGE_BYTES, MERGE_GAP, RangeOfKey, Targets, merged
from refexplorer.spec.references import Base64, Inline, Range, Reference, Url
from tests.helpers.servers import RangeServer
from tests.helpers.sets import bytes_at

BODY = bytes(range(251)) * 4000
ZARRAY = (
    '{"zarr_format": 2, "shape": [8], "chunks": [4], "dtype": "|u1", "compressor": null, '
    '"filters": null, "order": "C", "fill_value": 0}'
)


def targets(*allow: str, limit: int = 2**28) -> Targets:
    return Targets(AccessPolicy(None, allow), None, Limits(fetch_bytes=limit))


def ranges(url: str, count: int, length: int, step: int) -> dict[str, Reference]:
    return {f"x/{n}": Range(url, n * step, length) for n in range(count)}


def spans(*pairs: tuple[int, int], url: str = "http://h/f") -> list[tuple[int, int | None]]:
    wanted = [RangeOfKey("k", url, parse(url), start, end) for start, end in pairs]
    return [(request.start, request.end) for request in merged(wanted)]


def test_ranges_that_touch_or_nearly_share_a_request() -> None:
    assert spans((0, 10), (10, 20), (20, 30)) == [(0, 30)]
    assert spans((40, 50), (0, 10), (5, 8)) == [(0, 50)]
    assert spans((0, 10), (10 + MERGE_GAP, 20 + MERGE_GAP)) == [(0, 20 + MERGE_GAP)]
    assert len(spans((0, 10), (11 + MERGE_GAP, 20 + MERGE_GAP))) == 2


def test_merging_ends_where_a_request_would_be_large() -> None:
    half = MERGE_BYTES // 2
    found = spans(*((n * half, (n + 1) * half) for n in range(5)))
    assert found == [(0, 2 * half), (2 * half, 4 * half), (4 * half, 5 * half)]
    assert spans((0, 3 * half), (3 * half, 4 * half)) == [(0, 3 * half), (3 * half, 4 * half)]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**5)), max_size=30))
def test_every_range_is_cut_from_the_request_that_took_it(pairs: list[tuple[int, int]]) -> None:
    place = parse("http://h/f")
    wanted = [RangeOfKey(str(n), "u", place, a, a + b) for n, (a, b) in enumerate(pairs)]
    found = dict[str, bytes]()
    for request in merged(wanted):
        assert request.end is not None
        data = ByteParts([BODY[request.start : request.end]])
        found |= {part.key: request.cut(data, part) for part in request.parts}
    assert found == {str(n): BODY[a : a + b] for n, (a, b) in enumerate(pairs)}


@given(st.lists(st.binary(max_size=5), max_size=8), st.integers(0, 45), st.integers(0, 45))
def test_parts_are_cut_from_pieces(pieces: list[bytes], start: int, stop: int) -> None:
    whole = b"".join(pieces)
    assert ByteParts(pieces).cut(start, stop) == whole[start:stop]
    assert ByteParts(pieces).cut(start) == whole[start:]


def test_a_hundred_chunks_are_one_request(server: RangeServer) -> None:
    server.files["/f"] = BODY
    found = fetch_many(targets(server.url), ranges(f"{server.url}/f", 100, 1000, 1000))
    assert server.spans == ["bytes=0-99999"]
    assert [found[f"x/{n}"] for n in (0, 50, 99)] == [
        BODY[:1000],
        BODY[50_000:51_000],
        BODY[99_000:100_000],
    ]


def test_chunks_far_apart_are_requests_of_their_own(server: RangeServer) -> None:
    server.files["/f"] = BODY
    found = fetch_many(targets(server.url), ranges(f"{server.url}/f", 9, 100, 100_000))
    assert len(server.requests) == 9
    assert found["x/8"] == BODY[800_000:800_100]


def test_several_protocols_in_one_fetch(server: RangeServer, tmp_path: Path) -> None:
    server.files["/f"] = BODY
    (tmp_path / "f").write_bytes(BODY)
    fsspec.filesystem("memory").pipe_file("/refexplorer-many/f", BODY)
    wanted: dict[str, Reference] = {
        "a": Inline("text"),
        "b": Base64("base64:AAE="),
        "c": Range(f"{tmp_path}/f", 5, 5),
        "d": Range(f"{server.url}/f", 5, 5),
        "e": Url("memory://refexplorer-many/f"),
        "f": Range(f"{tmp_path}/f", 7, 0),
    }
    found = fetch_many(targets(server.url, str(tmp_path), "memory://"), wanted)
    expected = {"a": b"text", "b": b"\0\1", "c": BODY[5:10], "d": BODY[5:10], "e": BODY, "f": b""}
    assert found == expected
    fsspec.filesystem("memory").rm("/refexplorer-many", recursive=True)


def test_an_error_of_the_receiver_is_raised(server: RangeServer) -> None:
    """It was taken for one of the target, of a key that had come: who waited heard of neither."""
    server.files["/f"] = BODY

    def arrived(key: str, data: object) -> None:
        raise RuntimeError(key)

    wanted = ranges(f"{server.url}/f", 1, 10, 10)
    with pytest.raises(ExceptionGroup) as raised:
        fetch_many(targets(server.url), wanted, arrived=arrived)
    assert raised.group_contains(RuntimeError, match="x/0")


def test_what_fails_does_not_hide_the_rest(server: RangeServer, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(BODY)
    wanted: dict[str, Reference] = {
        "good": Range(f"{tmp_path}/f", 0, 4),
        "past": Range(f"{tmp_path}/f", len(BODY) - 2, 4),
        "gone": Range(f"{tmp_path}/g", 0, 4),
        "away": Range(f"{server.url}/f", 0, 4),
        "never": Range("https://host.example/f", 0, 4),
        "broken": Base64("base64:@@"),
        "nameless": Range(None, 0, 4),
    }
    found = fetch_many(targets(server.url, str(tmp_path)), wanted)
    assert found.pop("good") == BODY[:4]
    kinds = {key: type(error) for key, error in found.items()}
    assert kinds.pop("never") is AccessError
    assert kinds.pop("broken") is DecodeError
    assert all(issubclass(kind, FetchError) for kind in kinds.values())
    assert "2 of 4 bytes were received" in str(found["past"])
    assert str(found["gone"]).startswith("gone could not be read from")
    assert server.requests == ["/f"]


def test_a_fetch_is_bounded(server: RangeServer) -> None:
    server.files["/f"] = BODY
    reader = targets(server.url, limit=10_000)
    with pytest.raises(LimitError, match="11 references have 11,000 bytes"):
        fetch_many(reader, ranges(f"{server.url}/f", 11, 1000, 1000))
    assert server.requests == []
    server.files["/g"] = BODY[:6000]
    wholes: dict[str, Reference] = {str(n): Url(f"{server.url}/g?{n}") for n in range(3)}
    server.files |= {f"/g?{n}": BODY[:6000] for n in range(3)}
    found = fetch_many(reader, wholes)
    assert sum(isinstance(data, LimitError) for data in found.values()) == 2


def test_progress_counts_chunks_and_bytes(server: RangeServer, tmp_path: Path) -> None:
    server.files["/f"] = BODY
    told: list[FetchProgress] = []

    def advance(progress: FetchProgress) -> bool:
        told.append(progress)
        return True

    fetch_many(targets(server.url), ranges(f"{server.url}/f", 5, 1000, 100_000), advance)
    assert told[-1] == FetchProgress(5, 5, 5000, 5000)
    assert str(told[-1]) == "5.00 kB of 5.00 kB"


def test_progress_does_not_know_the_size_of_a_whole_file(server: RangeServer) -> None:
    server.files["/f"] = BODY[:1000]
    told: list[FetchProgress] = []
    wanted: dict[str, Reference] = {"a": Url(f"{server.url}/f"), "b": Inline("text")}

    def advance(progress: FetchProgress) -> bool:
        told.append(progress)
        return True

    fetch_many(targets(server.url), wanted, advance)
    assert told[-1] == FetchProgress(2, 2, 1004, None)
    assert str(told[-1]) == "1.00 kB"


@pytest.mark.parametrize("many", [False, True])
def test_stopping_ends_the_requests(server: RangeServer, many: bool) -> None:
    server.files["/f"] = BODY
    server.dripping.add("/f")
    wanted = ranges(f"{server.url}/f", 40 if many else 1, 100_000, 20_000 if many else 1)
    found = fetch_many(targets(server.url), wanted, lambda progress: not server.requests)
    assert found == {}
    assert server.hung_up.wait(10)


def test_an_interrupt_ends_the_request(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/f"] = BODY
    server.dripping.add("/f")

    def interrupted(*_: object, **__: object) -> Any:
        threading.Event().wait(0.2)
        raise KeyboardInterrupt

    monkeypatch.setattr("refexplorer.io.fetch.background.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        targets(server.url).fetch("x", Range(f"{server.url}/f", 0, 500_000))
    assert server.hung_up.wait(10)


def test_the_filesystem_reads_a_list_at_once(server: RangeServer) -> None:
    server.files["/f"] = BODY
    written = {f"x/{n}": [f"{server.url}/f", n * 100, 100] for n in range(10)}
    view = rx.open_references(written | {"a": "text"}).allowing(server.url).filesystem()
    found = view.cat([*written, "a", "none"], on_error="return")
    assert found["x/3"] == BODY[300:400]
    assert isinstance(found["none"], FileNotFoundError)
    assert len(server.requests) == 1
    assert view.cat(["a", "none"], on_error="omit") == {"a": b"text"}
    with pytest.raises(FileNotFoundError):
        view.cat(["a", "none"])
    assert view.get_mapper("").getitems(["x/1", "none"], on_error="omit") == {"x/1": BODY[100:200]}


@pytest.mark.parametrize("lists", [False, True])
def test_fsspecs_own_reader_works_over_what_to_v0_writes(server: RangeServer, lists: bool) -> None:
    server.files["/f"] = BODY
    dimensions = {"i": {"stop": 5}}
    item = {"key": "x/{{i}}", "url": "{{u}}", "offset": "{{i * 100}}", "length": "100"}
    document = {
        "version": 1,
        "templates": {"u": f"{server.url}/f"},
        "gen": [item | {"dimensions": dimensions}],
        "refs": {"a": "text", "b": "base64:AAE="},
    }
    refs = rx.open_references(document)
    ours = refs.allowing(server.url).filesystem()
    theirs = fsspec.filesystem(
        "reference",
        fo=refs.to_v0(),
        fs={"http": fsspec.filesystem("http", skip_instance_cache=True)},
        skip_instance_cache=True,
    )
    for key in refs:
        assert theirs.cat_file(key) == ours.cat_file(key)
    if lists:
        assert sorted(theirs.ls("x", detail=False)) == ours.ls("x", detail=False)


def test_reads_at_about_the_same_time_are_one_request(server: RangeServer) -> None:
    server.files["/f"] = BODY
    reader = targets(server.url)
    threads = 8
    barrier, found = threading.Barrier(threads), dict[int, bytes]()

    def read(number: int) -> None:
        barrier.wait()
        found[number] = reader.fetch("x", Range(f"{server.url}/f", number * 100, 100))

    running = [threading.Thread(target=read, args=[number]) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert found == {n: BODY[n * 100 : (n + 1) * 100] for n in range(threads)}
    assert len(server.requests) < threads


def test_a_failure_is_raised_for_each_waiting_read(server: RangeServer) -> None:
    refs = rx.open_references(
        {".zarray": ZARRAY, "0": [f"{server.url}/gone", 0, 4], "1": [f"{server.url}/gone", 4, 4]}
    )
    array: Any = refs.allowing(server.url).to_zarr()
    for place in (0, 5):
        with pytest.raises(FetchError, match=f"{place // 4} could not be read"):
            array[place]


def test_a_read_by_zarr_can_be_stopped(server: RangeServer) -> None:
    server.files["/f"] = BODY
    server.dripping.add("/f")
    array: Any = (
        rx.open_references(
            {
                ".zarray": ZARRAY.replace("[4]", "[500000]").replace("[8]", "[500000]"),
                "0": [f"{server.url}/f", 0, 500_000],
            }
        )
        .allowing(server.url)
        .to_zarr()
    )
    with (
        stoppable(lambda: not server.requests),
        pytest.raises(FetchError, match=r"0 could not be read .* the read was stopped"),
    ):
        array[:]
    assert server.hung_up.wait(10)


def test_reads_of_one_set_share_connections(server: RangeServer) -> None:
    server.files["/f"] = BODY
    refs = rx.open_references(bytes_at(*[f"{server.url}/f"] * 20)).allowing(server.url)
    ports = set()
    for index in range(20):
        values = refs.read("x", slice(index * 4, index * 4 + 4)).values
        assert values.tobytes() == BODY[index * 4 : index * 4 + 4]
        ports.add(server.ports["/f"])
    assert len(ports) == 1
    pickle.loads(pickle.dumps(refs)).chunk("x", (0,))
    assert server.ports["/f"] not in ports


def test_a_file_that_changes_between_reads_of_one_set_is_an_error(server: RangeServer) -> None:
    server.files["/f"], server.etags["/f"] = BODY, '"one"'
    refs = rx.open_references(bytes_at(f"{server.url}/f")).allowing(server.url)
    refs.read("x")
    server.etags["/f"] = '"two"'
    with pytest.raises(rx.RefexplorerError, match=r"changed since its first read .* open the"):
        refs.read("x")
    again = rx.open_references(bytes_at(f"{server.url}/f")).allowing(server.url)
    assert np.asarray(again.read("x")).tobytes() == BODY[:4]


def test_a_set_reads_with_its_own_grants_and_options_alone(server: RangeServer) -> None:
    server.files["/f"] = BODY
    refs = rx.open_references(bytes_at(f"{server.url}/f"))
    with pytest.raises(rx.errors.AccessError):
        refs.read("x")
    refs.allowing(server.url).read("x")
    with pytest.raises(rx.errors.AccessError):
        refs.read("x")
    named = refs.allowing(server.url, storage_options={"http": {"headers": {"X-Key": "a"}}})
    named.read("x")
    named.allowing(storage_options={"http": {"headers": {"X-Key": "b"}}}).read("x")
    named.read("x")
    assert [each.get("X-Key") for each in server.seen_headers[-3:]] == ["a", "b", "a"]
