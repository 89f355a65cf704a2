"""The kernel's end of a tab of JupyterLab: what it is asked to open, and what it answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from comm.base_comm import BaseComm

from refexplorer import demo
from refexplorer.hosts import bundle_text
from refexplorer.hosts.notebook.lab import open_tab


class Way(BaseComm):
    """A comm that keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        super().__init__(primary=False)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **k: Any
    ) -> None:
        if msg_type == "comm_msg":
            self.sent.append(json.loads(json.dumps(data)))

    def ask(self, **message: Any) -> dict[str, Any]:
        self.handle_msg({"content": {"data": {"id": "t:1", **message}}})
        return self.sent[-1]


def opened(**data: Any) -> Way:
    way = Way()
    open_tab(way, {"content": {"data": data}})
    return way


def test_a_set_opens_with_the_bundle_of_the_kernel() -> None:
    way = opened(view="explorer", source=str(demo.path("sst.v1.json")))
    told = way.sent[-1]
    assert (told["lab"], told["bundle"]) == ("opened", bundle_text("explorer"))
    assert told["traits"]["part"] == "explorer"
    assert way.ask(op="hello")["title"] == "sst.v1.json"
    assert way.ask(op="key.show", path="nothing")["error"]


def test_a_set_that_is_gone_says_so() -> None:
    told = opened(view="explorer", shown="another kernel's").sent[-1]
    assert told["lab"] == "failed"
    assert "run the cell again" in told["sentence"]


def test_how_far_the_opening_of_a_large_set_is_is_reported(tmp_path: Path) -> None:
    source = tmp_path / "large.json"
    document = {f"x/{n}": [f"s3://bucket/{n:09}.nc", n, 100] for n in range(60_000)}
    source.write_text(json.dumps(document))
    way = opened(view="explorer", source=str(source))
    done = [each["done"] / each["size"] for each in way.sent if each["lab"] == "opening"]
    assert done
    assert done == sorted(done)
    assert way.sent[-1]["lab"] == "opened"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"view": "explorer", "source": "nowhere.json"}, "nowhere.json"),
        ({"view": "explorer", "source": 3}, "source"),
        ({"source": "x"}, "view"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(data: dict[str, Any], said: str) -> None:
    (told,) = opened(**data).sent
    assert told["lab"] == "failed"
    assert said in told["sentence"]
    assert "Traceback" not in told["sentence"]


def test_a_text_is_edited_and_explored_by_its_file_alone() -> None:
    text = '{"version": 1, "refs": {"a": "text"}}'
    way = opened(view="editor", document=text)
    assert way.sent[-1]["traits"] == {"document": text}
    assert way.ask(op="hello")["document"] == text
    edited = way.ask(op="edit", document='{"version": 1, "refs": {"a": "text", "b": "more"}}')
    assert edited["total"] == 2
    assert "Save the file" in way.ask(op="explore")["error"]


def test_a_closed_tab_hears_nothing_more() -> None:
    way = opened(view="explorer", source=str(demo.path("sst.v1.json")))
    way.handle_close({})
    before = len(way.sent)
    way.handle_msg({"content": {"data": {"id": "t:2", "op": "overview"}}})
    assert len(way.sent) == before
