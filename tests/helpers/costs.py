"""What tests cost: processor time of each, with that of the processes it started and waited for.

Unlike the time on the clock, which ``--durations`` shows, it is the same on a busy machine.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

NAME = "cpu seconds"
SLOWEST = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="show processor time by folder and test")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.stash[_STARTED] = _spent()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    result = yield
    item.user_properties.append((NAME, _spent() - item.stash[_STARTED]))
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the sums; a process that stays for many tests counts where it ends."""
    if not terminalreporter.config.getoption("--costs"):
        return
    costs = {
        report.nodeid: seconds
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "teardown"
        for name, seconds in report.user_properties
        if name == NAME
    }
    folders: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for test, seconds in costs.items():
        file = test.partition("::")[0]
        files[file] += seconds
        folders["/".join(file.split("/")[:2])] += seconds
    for title, found in {"folder": folders, "file": files, "test": Counter(costs)}.items():
        terminalreporter.section(f"processor time by {title}")
        for name, seconds in found.most_common(SLOWEST):
            terminalreporter.write_line(f"{seconds:8.1f} s  {name}")
    terminalreporter.write_line(f"{sum(costs.values()):8.1f} s  in all, {len(costs)} tests")


_STARTED = pytest.StashKey[float]()


def _spent() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
