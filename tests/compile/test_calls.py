"""What a warm call of a compiled function costs, in calls of Python's functions."""
from __future__ import annotations

import sys
from typing import Any

import mstorch


def test_a_warm_call_of_a_graph() -> None:
    compiled = mstorch.compile(lambda a, b: (a + b).relu().sum(), backend="mindspore")
    a, b = mstorch.ones(4, 4), mstorch.ones(4, 4)
    for _ in range(3):
        assert compiled(a, b).item() == 32
    calls: list[str] = []

    def profile(frame: Any, event: str, argument: object) -> None:
        if event == "call":
            calls.append(f"{frame.f_code.co_filename}:{frame.f_code.co_name}")

    sys.setprofile(profile)
    try:
        compiled(a, b)
    finally:
        sys.setprofile(None)
    assert len(calls) <= 200, len(calls)
