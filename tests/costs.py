"""Print the tests that cost the most CPU time: a test waits for other reasons too, and machines differ."""

import resource
import time
from collections.abc import Iterator

import pytest

MOST = 20


class CostReporter:
    """Collects the cost of each test, in the process that runs it and in the one that reports."""

    def __init__(self) -> None:
        self.costs: dict[str, tuple[float, float]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        item.started = cpu_seconds(), time.monotonic()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report = yield
        if call.when == "teardown":
            cpu, clock = item.started
            report.user_properties.append(("cost", (cpu_seconds() - cpu, time.monotonic() - clock)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if cost := dict(report.user_properties).get("cost"):
            self.costs[report.nodeid] = tuple(cost)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self.costs) <= MOST:
            return
        cpu = sum(cost[0] for cost in self.costs.values())
        terminalreporter.section(f"most CPU time: {MOST} of {len(self.costs)} tests, which took {cpu:.0f} s in all")
        for name, (used, passed) in sorted(self.costs.items(), key=lambda item: -item[1][0])[:MOST]:
            terminalreporter.line(f"{used:7.2f} s of CPU {passed:7.2f} s  {name}")


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
