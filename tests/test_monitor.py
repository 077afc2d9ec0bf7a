"""torch.monitor: statistics over windows, and the events at the end of each window."""
from __future__ import annotations

import datetime
import time

import pytest

from tests.against_torch import both

DAY = datetime.timedelta(days=1)


def heard(torch, body):
    """Return the names and values of events while the body runs, and its result."""
    events = []
    handle = torch.monitor.register_event_handler(lambda event: events.append((event.name, dict(sorted(event.data.items())))))
    try:
        result = body(torch.monitor)
    finally:
        torch.monitor.unregister_event_handler(handle)
    return events, result


def plain(values):
    return {str(key): value for key, value in sorted(values.items(), key=lambda item: int(item[0]))}


def test_windows_of_samples():
    def body(monitor):
        seen = []
        stat = monitor.Stat("loss", list(monitor.Aggregation.__members__.values()), DAY, 3)
        for number in (4, 1.5, True, 9, 10):
            stat.add(number)
            seen.append((stat.count, plain(stat.get())))
        return seen, stat.name

    both(lambda torch: heard(torch, body))


def test_the_end_of_a_stat_and_values_without_a_formula():
    def body(monitor):
        stat = monitor.Stat("a", [monitor.Aggregation.MEAN, monitor.Aggregation.SUM], DAY)
        stat.add(3)
        stat.add(4)
        del stat
        monitor.Stat("nothing", [monitor.Aggregation.SUM], DAY)
        monitor.Stat("value", [monitor.Aggregation.VALUE], DAY, 1).add(2)

    both(lambda torch: heard(torch, body))


def test_windows_of_time():
    def body(monitor):
        size = datetime.timedelta(milliseconds=400)
        stat = monitor.Stat("w", [monitor.SUM, monitor.COUNT], size)
        time.sleep(0.4 - time.monotonic() % 0.4 + 0.05)
        stat.add(1)
        stat.add(2)
        before = stat.count, plain(stat.get())
        time.sleep(0.4)
        stat.add(5)
        after = stat.count, plain(stat.get())
        time.sleep(0.4)
        return before, after, stat.count, plain(stat.get())

    both(lambda torch: heard(torch, body))


def test_events():
    def body(monitor):
        event = monitor.Event("x", datetime.datetime(2020, 1, 2, 3, 4, 5, 6), {"a": 1, "b": 2.5, "c": "s", "d": True})
        monitor.log_event(event)
        event.data["lost"] = 1
        first = dict(sorted(event.data.items()))
        event.name, event.data = "y", {"k": 2}
        monitor.log_event(event)
        return first, event.timestamp, repr(monitor.Aggregation.SUM), str(monitor.MIN), int(monitor.MAX)

    both(lambda torch: heard(torch, body))


def test_a_handler_that_fails():
    def body(torch):
        def fails(event):
            raise ValueError(event.name)

        handle = torch.monitor.register_event_handler(fails)
        try:
            torch.monitor.log_event(torch.monitor.Event("told", datetime.datetime.now(), {}))
        finally:
            torch.monitor.unregister_event_handler(handle)

    both(body)


@pytest.mark.parametrize("call", [
    "Event('x', now, {'a': [1]})", "Event('x', 1.0, {})", "Event(1, now, {})", "Event('x', now, {1: 1})", "Event('x', now, {'a': None})",
    "Stat('a', [M.SUM], 1)", "Stat('a', [3], day)", "Stat('a', [M.SUM], day).add('x')", "Stat('a', [], day).add([])",
    "register_event_handler(3)", "log_event(3)",
])  # fmt: skip
def test_wrong_types(call):
    names = {"now": datetime.datetime.now(), "day": DAY}
    both(lambda torch: eval(f"M.{call}", {"M": torch.monitor, **names}), message="incompatible")


def test_tensorboard():
    def body(torch):
        class Writer:
            lines: list = []

            def add_scalar(self, name, value, walltime):
                self.lines.append((name, value, type(walltime)))

        writer = Writer()
        handle = torch.monitor.register_event_handler(torch.monitor.TensorboardEventHandler(writer))
        torch.monitor.Stat("t", [torch.monitor.MAX], DAY, 1).add(7)
        torch.monitor.log_event(torch.monitor.Event("other", datetime.datetime.now(), {"a": 1}))
        torch.monitor.unregister_event_handler(handle)
        return writer.lines

    both(body)
