"""What a run of a model records for ONNX, without the package onnx."""
from __future__ import annotations

import mstorch
from mstorch.onnx._capture import captured
from mstorch.onnx._converters import CONVERTERS


def test_an_operator_is_one_step_and_a_composite_one_is_its_parts() -> None:
    aten, x, one = mstorch.ops.aten, mstorch.randn(2, 3), mstorch.ones(3)
    calls = {
        "hardswish": lambda x: aten.hardswish_.default(x * 2), "silu": lambda x: aten.silu_.default(x * 2), "addmm": lambda x: aten.linear.default(x * 2, mstorch.ones(4, 3), mstorch.ones(4)),
        "native_batch_norm": lambda x: aten.batch_norm.default(x * 2, one, one, one, one, False, 0.1, 1e-5, True),
    }  # fmt: skip
    for name, call in calls.items():
        run, _ = captured(call, (x,), {}, {}, CONVERTERS)
        assert [step.name for step in run.steps].count(name) == 1, name
        assert not any(step.name in ("linear", "batch_norm") for step in run.steps)
