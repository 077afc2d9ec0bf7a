"""What small calls and a step of a small network cost the host, in calls of Python's functions."""
from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

MOST = {
    "a step of a Llama": 4800, "x[0].add_(1)": 15, "BatchNorm2d": 90, "MultiheadAttention": 350,
    "a warm call of a graph": 61,  # 60, and the lambda that calls it
    **{f"{name} of a {what}": 20 for name in ("add_", "sub_", "mul_", "div_") for what in ("number", "tensor")},
}  # fmt: skip

SMALL = {
    "add": 6, "add a number": 13, "add, out=": 28, "exp": 9, "relu": 10, "silu": 17, "softmax": 16, "log_softmax": 16, "sum": 15, "mean": 25,
    "max": 38, "cumsum": 17, "topk": 46, "cat": 16, "stack": 16, "matmul": 17, "linear": 17, "layer_norm": 18, "rows": 42, "gather": 33,
    "where": 25, "cross_entropy": 42, "conv2d": 57, "pointwise": 36, "item": 7, "x[i]": 11, "GRUCell": 60,
}  # fmt: skip
MOST |= {f"{name}, small": most for name, most in SMALL.items()}
if np.lib.NumpyVersion(np.__version__) < "2.0.0":  # it has no context in which its warnings are off: its state is read and restored
    MOST |= {"MultiheadAttention": 358, "sum, small": 17}


@pytest.fixture(scope="module")
def counted():
    return json.loads(subprocess.run([sys.executable, "-m", "tests.calls"], capture_output=True, check=True, text=True).stdout.splitlines()[-1])


@pytest.mark.parametrize("name", MOST)
def test_calls(counted, name):
    total, most = counted[name]
    assert total <= MOST[name], most
