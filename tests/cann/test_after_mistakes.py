"""A call with a wrong argument that equals a right one (True or 1.0 for 1) leaves nothing behind: right calls after it compute on the device."""
from __future__ import annotations

import pytest

import mstorch as torch
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
F = torch.nn.functional

CALLS = {
    "softmax": torch.softmax,
    "cummax": lambda x, one: torch.cummax(x, one).indices,
    "mode": lambda x, one: torch.mode(x, one).values,
    "sort": lambda x, one: torch.sort(x, one).values,
    "topk": lambda x, one: torch.topk(x, 2, one).values,
    "cat": lambda x, one: torch.cat([x, x], one),
    "stack": lambda x, one: torch.stack([x, x], one),
    "flip": lambda x, one: torch.flip(x, (one,)),
    "roll": lambda x, one: torch.roll(x, (one,), (0,)),
    "roll of a dimension": lambda x, one: torch.roll(x, (2,), (one,)),
    "cross": lambda x, one: torch.linalg.cross(x, x.flip(0), dim=one),
    "glu": lambda x, one: F.glu(x[:, :2], one),
    "nll_loss": lambda x, one: F.nll_loss(x, torch.tensor([0, 1, 2], device=x.device), ignore_index=one),
    "elu": lambda x, one: F.elu(x, one),
    "triu": torch.triu,
    "broadcast_to": lambda x, one: torch.broadcast_to(x, (one, 3, 3)),
    "max_pool2d": lambda x, one: F.max_pool2d(x[None, None], (2, 2), stride=(one, one)),
    "conv2d": lambda x, one: F.conv2d(x[None, None], x[None, None, :2, :2], stride=(one, one)),
    "interpolate": lambda x, one: F.interpolate(x[None, None], (one, 2)),
    "amax": lambda x, one: torch.amax(x, (one,)),
    "index_select": lambda x, one: torch.index_select(x, one, torch.tensor([2, 0], device=x.device)),
}


@pytest.mark.parametrize("wrong", [True, 1.0])
@pytest.mark.parametrize("name", CALLS)
@on_plugin
def test_a_right_call_after_a_wrong_one(name, wrong):
    x = torch.tensor([[1.5, -2.0, 0.5], [3.0, 4.0, -1.0], [0.25, 2.0, 7.0]])
    call, on_device = CALLS[name], x.to("npu")
    try:
        call(on_device, wrong)
    except (TypeError, RuntimeError):
        pass
    torch.testing.assert_close(call(on_device, 1).cpu(), call(x, 1))
