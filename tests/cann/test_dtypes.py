"""Dtypes that CANN's pages do not name for an operator are refused, of a 910B or of a 910A; the library does not ask for them."""
from __future__ import annotations

import mindspore
import pytest
from mindspore import mint

import mstorch as torch
from mstorch.nn import functional as F
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
D = "npu"


def _refused(call) -> str:
    try:
        call().asnumpy()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("nothing was refused")


@on_plugin(EMULATED_CANN_DTYPES="910B")
def test_a_910b_refuses_what_its_pages_do_not_name():
    x = torch.randn(3, 3, device=D, dtype=torch.float64)
    assert "support list" in _refused(lambda: mint.matmul(mindspore.Tensor([[1.0]], mindspore.float64), mindspore.Tensor([[1.0]], mindspore.float64)))
    assert torch.allclose((x @ x).cpu(), x.cpu() @ x.cpu())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@on_plugin(EMULATED_CANN_DTYPES="910B")
def test_steps_of_training_are_not_refused(dtype):
    kind = getattr(torch, dtype)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.GELU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
                              torch.nn.Linear(64, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3)).to(D, kind)  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
    x, y = torch.randn(4, 1, 8, 8, device=D).to(kind), torch.tensor([0, 1, 2, 1], device=D)
    losses = []
    for _ in range(3):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[2] < losses[0]
    rows = torch.randn(2, 4, 32, 16, device=D).to(kind)
    assert torch.isfinite(F.scaled_dot_product_attention(rows, rows, rows, is_causal=True)).all()


@on_plugin(EMULATED_CANN_DTYPES="910A")
def test_a_910a_has_no_bfloat16():
    one = mindspore.Tensor([1.0], mindspore.bfloat16)
    assert "support list" in _refused(lambda: mint.neg(one).astype(mindspore.float32))
    assert (torch.ones(3, device=D) + 1).tolist() == [2, 2, 2]
