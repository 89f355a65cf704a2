from __future__ import annotations

import queue
import time
from typing import Any

from refexplorer.data.access.policy import AccessPolicy
from refexplorer.data.fetch.target_reader import Targets
from refexplorer.limits import Limits
from refexplorer.spec.core.references import Range
from refexplorer.views.wire.explorer.data_messages import ReadChunk
from refexplorer.views.wire.jobs import Jobs
from refexplorer.views.wire.messages import Cancel, Done
from tests.helpers.servers import range_server


def test_cancelling_a_job_ends_the_request_that_it_waits_for() -> None:
    posted = queue.Queue[dict[str, Any]]()
    jobs = Jobs(lambda message, buffers: posted.put(message))
    with range_server() as server:
        server.files["/f"] = bytes(10**6)
        server.dripping.add("/f")
        reader = Targets(AccessPolicy(None, [server.url]), None, Limits())

        def work(report: object) -> tuple[Done, list[bytes]]:
            return Done(), [reader.fetch("x", Range(f"{server.url}/f", 0, 500_000))]

        jobs.start(ReadChunk(id="a:1", array="x"), work)
        while not server.requests:
            time.sleep(0.01)
        jobs.cancel(Cancel(job="a:1"))
        assert posted.get(timeout=10)["error"] == "It was stopped."
        assert server.hung_up.wait(10)
