from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from refexplorer.core.errors import AccessError, FetchError
from refexplorer.core.limits import Limits
from refexplorer.formats.datafiles.data_file import Unread
from refexplorer.io.access import AccessPolicy
from refexplorer.io.fetch.targets import Targets
from refexplorer.io.sources.target_file import BLOCK, LONGEST, MOST_BYTES, TargetFile
from tests.helpers.servers import RangeServer

BODY = b"".join(number.to_bytes(4, "big") for number in range(10 * BLOCK // 4 + 5))


def targets(*allow: str) -> Targets:
    return Targets(AccessPolicy(None, allow), None, Limits())


def served(server: RangeServer, body: bytes = BODY, most: int = MOST_BYTES) -> TargetFile:
    server.files["/f"] = body
    return TargetFile(targets(server.url), f"{server.url}/f", most)


def test_a_file_on_a_server_reads_like_one_on_disk(server: RangeServer) -> None:
    ours, disk = served(server), io.BytesIO(BODY)
    for where, whence, count in (
        (0, 0, 10),
        (BLOCK - 3, 0, 7),
        (5, 1, 2 * BLOCK),
        (-3, 2, 10),
        (-BLOCK - 1, 2, -1),
        (len(BODY) + 9, 0, 4),
        (3, 0, 0),
    ):
        assert ours.seek(where, whence) == disk.seek(where, whence)
        assert ours.read(count) == disk.read(count)
        assert ours.tell() == disk.tell()
    with pytest.raises(ValueError, match="-1"):
        ours.seek(-1)


def test_a_file_is_opened_with_its_first_block_and_size(server: RangeServer) -> None:
    file = served(server)
    assert file.size == len(BODY)
    assert file.read_at(0, BLOCK) == BODY[:BLOCK]
    assert file.read_at(7, 9) == BODY[7:9]
    assert sorted(server.spans, key=str) == ["bytes=0-255", f"bytes=0-{BLOCK - 1}"]


def test_neighbouring_blocks_come_in_one_request_and_none_comes_twice(server: RangeServer) -> None:
    file = served(server)
    file.read_at(6 * BLOCK, 6 * BLOCK + 1)
    del server.spans[:]
    assert file.read_at(4 * BLOCK + 5, 8 * BLOCK + 5) == BODY[4 * BLOCK + 5 : 8 * BLOCK + 5]
    wanted = [f"bytes={4 * BLOCK}-{6 * BLOCK - 1}", f"bytes={7 * BLOCK}-{9 * BLOCK - 1}"]
    assert server.spans == wanted
    file.read_at(4 * BLOCK, 9 * BLOCK)
    assert server.spans == wanted


def test_who_reads_on_is_given_more_each_time(server: RangeServer) -> None:
    body = bytes(8 * LONGEST)
    file = served(server, body)
    for start in range(0, len(body), 1000):
        file.read_at(start, start + 1000)
    doubled = [BLOCK << power for power in range(5)]  # up to LONGEST
    rest = -(-(len(body) - sum(doubled)) // LONGEST)
    assert len(server.spans) == 1 + len(doubled) + rest
    assert file.read_at(0, len(body)) == body
    assert len(server.spans) == 1 + len(doubled) + rest


def test_no_more_is_read_than_allowed(server: RangeServer) -> None:
    file = served(server, most=3 * BLOCK)
    file.read_at(5 * BLOCK, 7 * BLOCK)
    with pytest.raises(Unread, match=r"takes more than 197 kB over the network"):
        file.read_at(9 * BLOCK, 9 * BLOCK + 1)
    assert len(server.spans) == 3
    assert served(server, most=sys.maxsize).read() == BODY


def test_a_server_without_ranges_sends_the_whole_file_only_if_allowed(
    server: RangeServer,
) -> None:
    server.ignores_ranges = True
    file = served(server, most=len(BODY))
    assert file.read_at(3, 5) == BODY[3:5]
    with pytest.raises(Unread, match="the whole file of 655 kB would have to be"):
        file.read_at(BLOCK, BLOCK + 1)
    file = served(server, most=sys.maxsize)
    assert file.read_at(3 * BLOCK, 5 * BLOCK) == BODY[3 * BLOCK : 5 * BLOCK]
    assert file.read() == BODY
    assert len(server.spans) == 2 + 3


def test_a_server_that_hides_the_size(server: RangeServer) -> None:
    server.hides_sizes = True
    with pytest.raises(Unread, match="does not report the size"):
        served(server)


def test_an_empty_file(server: RangeServer) -> None:
    assert served(server, b"").read() == b""


def test_a_file_that_changes_in_between_fails(server: RangeServer) -> None:
    server.etags["/f"] = "one"
    file = served(server)
    server.etags["/f"] = "two"
    with pytest.raises(FetchError, match=r"The metadata could not be read from .*changed"):
        file.read_at(5 * BLOCK, 6 * BLOCK)


def test_nothing_is_asked_of_what_is_not_allowed(server: RangeServer) -> None:
    with pytest.raises(AccessError):
        TargetFile(targets(), f"{server.url}/f")
    assert not server.requests


def test_a_file_that_is_not_there(server: RangeServer, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="there is no such file"):
        TargetFile(targets(server.url), f"{server.url}/f")
    with pytest.raises(FetchError, match="there is no such file"):
        TargetFile(targets(str(tmp_path)), f"{tmp_path}/f")


def test_a_local_file_is_read_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(BODY)
    with TargetFile(targets(str(tmp_path)), str(path), 0) as file:
        assert file.read_at(BLOCK - 1, BLOCK + 1) == BODY[BLOCK - 1 : BLOCK + 1]
        assert file.seek(-4, io.SEEK_END) == len(BODY) - 4
        assert file.read() == BODY[-4:]
