"""What a step of a small network costs the host on MindSpore's Ascend plugin, in calls of Python's functions."""
from __future__ import annotations

import pytest

from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow


@on_plugin
def test_a_step_of_a_llama():
    from tests.calls import calls_of, step_of_llama

    calls = calls_of(step_of_llama("npu"), 5)
    assert calls.total() <= 6700, calls.most_common(20)


@on_plugin
def test_a_compiled_step_of_a_llama():
    import mstorch as torch
    from tests.calls import calls_of, step_of_llama

    calls = calls_of(torch.compile(step_of_llama("npu"), fullgraph=True), 5)
    assert calls.total() <= 720, calls.most_common(20)
