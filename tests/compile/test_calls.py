"""What a warm call of a compiled function costs, in calls of Python's functions."""
from __future__ import annotations

import mstorch

from ..calls import calls_of


def test_a_warm_call_of_a_graph() -> None:
    compiled = mstorch.compile(lambda a, b: (a + b).relu().sum(), backend="mindspore")
    a, b = mstorch.ones(4, 4), mstorch.ones(4, 4)
    assert compiled(a, b).item() == 32
    calls = calls_of(lambda: compiled(a, b))
    assert calls.total() <= 61, calls.most_common(20)  # 60, and the lambda
