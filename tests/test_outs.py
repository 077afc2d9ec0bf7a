"""``out=`` over torch's database of operators: every third, those that share a way of storing, and torch's other errors.

``python -m tests.outs`` goes through all operators.
"""
from __future__ import annotations

from typing import Any

import pytest

from tests import outs
from tests.against_torch import both
from tests.known import SECTIONS, hold

pytestmark = pytest.mark.sweep

REASONS = {name: reason for reason, names in SECTIONS["outs"].items() for name in names}
ALL = outs.items()
ALWAYS = ("abs", "ceil", "expand_copy", "fft.fft", "index_select", "linalg.norm", "masked_select", "nn.functional.avg_pool2d", "nn.functional.softplus",
          "ones", "quantile", "scatter_add", "softmax", "take", "tril", "where")  # fmt: skip
CHECKS = {name: check for place, (name, check) in enumerate(ALL.items()) if place % 3 == 0 or name in ALWAYS}


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.filterwarnings("ignore")
def test_operators(name: str) -> None:
    hold(name, CHECKS[name], REASONS)


def test_known() -> None:
    assert set(REASONS) <= set(ALL), "xfails.toml names what is not in the database"


CALLS = {
    "gelu": lambda F, x, out: F.gelu(x, approximate="tanh", out=out),
    "softplus": lambda F, x, out: F.softplus(x, 2, out=out),
    "linear": lambda F, x, out: F.linear(x, x[0], out=out),
    "linear with a bias": lambda F, x, out: F.linear(x[0], x[0], x[0, 0, :2], out=out),
    "avg_pool2d": lambda F, x, out: F.avg_pool2d(x, 2, out=out),
    "avg_pool3d": lambda F, x, out: F.avg_pool3d(x[None], 1, out=out),
}


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
@pytest.mark.parametrize("name", CALLS)
def test_layers(name: str, kind: str, tracked: bool) -> None:
    def body(torch: Any) -> Any:
        x = (torch.arange(8, dtype=torch.float32) - 3).reshape(2, 2, 2).requires_grad_(tracked)
        out = torch.empty(0, dtype=getattr(torch, kind))
        result = CALLS[name](torch.nn.functional, x, out)
        return result, result is out

    both(body, message="" if tracked else None)  # torch checks requires_grad before dtypes


@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
def test_least_squares(kind: str) -> None:
    def body(torch: Any) -> Any:
        outs = tuple(torch.empty(0, dtype=getattr(torch, name)) for name in (kind, "float32", "int64", "float32"))
        found = torch.linalg.lstsq(torch.eye(3, 2), torch.ones(3, 2), out=outs)
        return tuple(found), [a is b for a, b in zip(found, outs)]

    both(body, strides=False)  # columns of the longer right-hand side
