"""torch.nn.init: the numbers drawn are torch's, bit for bit."""
from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import mstorch

DRAWS = [
    "uniform_(w, -2, 3)", "normal_(w, 1, 2)", "trunc_normal_(w, 0, 1, -1, 2)", "trunc_normal_(w, 0, 0.02)", "constant_(w, 0.3)", "ones_(w)",
    "zeros_(w)", "eye_(w)", "xavier_uniform_(w, 2)", "xavier_normal_(w)", "kaiming_uniform_(w, 0.1, 'fan_out')",
    "kaiming_normal_(w, nonlinearity='relu')", "sparse_(w, 0.3)",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("draw", DRAWS)
def test_draws(draw, dtype):
    arrays = []
    for torch in (real_torch, mstorch):
        torch.manual_seed(3)
        w = torch.nn.Parameter(torch.empty(7, 9, dtype=getattr(torch, dtype)))
        result = eval(f"init.{draw}", {"init": torch.nn.init, "w": w})
        assert result is w
        arrays.append((w.detach().numpy(), torch.rand(2).numpy()))
    np.testing.assert_array_equal(*[a for a, _ in arrays])
    np.testing.assert_array_equal(*[b for _, b in arrays])


def test_orthogonal(both):
    def body(torch):
        torch.manual_seed(0)
        return [torch.nn.init.orthogonal_(torch.empty(*size), 2) for size in ((3, 5), (5, 3), (4, 2, 3))]

    both(body, rtol=1e-4, atol=1e-5)


def test_dirac(both):
    both(lambda torch: [torch.nn.init.dirac_(torch.empty(4, 2, 3)), torch.nn.init.dirac_(torch.empty(4, 2, 3, 3), 2)])


@pytest.mark.parametrize(
    "call", ["xavier_uniform_(e(3))", "eye_(e(3))", "dirac_(e(3))", "orthogonal_(e(3))", "sparse_(e(3), 0.1)", "calculate_gain('x')"]
)
def test_errors(both, call):
    both(lambda torch: eval(f"init.{call}", {"init": torch.nn.init, "e": torch.empty}))


def test_names():
    names = [n for n in real_torch.nn.init.__dict__ if not n.startswith("_") and callable(getattr(real_torch.nn.init, n)) and n.islower()]
    missing = [n for n in names if getattr(real_torch.nn.init, n).__module__ == "torch.nn.init" and not hasattr(mstorch.nn.init, n)]
    assert not missing
    assert mstorch.nn.init is mstorch.init
