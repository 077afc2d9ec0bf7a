"""The first steps on MindSpore's Ascend plugin: binding, tensors, a loss."""
from __future__ import annotations

import mindspore
import pytest

import mstorch as torch
from mstorch.nn import functional as F
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
D = "npu"


@on_plugin(alone=True)
def test_the_first_tensor():
    assert torch.npu.is_available() and not torch.npu.is_initialized()
    assert torch.ones(3, device=D).tolist() == [1, 1, 1]


@on_plugin(EMULATED_CANN_DEVICES=2)
def test_the_program_chooses_the_device():
    torch.npu.set_device(1)
    x = torch.ones(3, device=D)
    assert x.device == torch.device("npu:1") and mindspore.get_context("device_id") == 1
    assert mindspore.Tensor([1.0]).asnumpy().tolist() == [1.0]


@on_plugin(EMULATED_CANN_DEVICES=2)
def test_mindspore_chose_the_device_first():
    assert (mindspore.Tensor([1.0]) + 1).asnumpy().tolist() == [2]
    try:
        torch.npu.set_device(1)
        torch.ones(1, device=D)
    except RuntimeError as error:
        assert "MindSpore has already computed on npu:0" in str(error)
    else:
        raise AssertionError("nothing was raised")
    torch.npu.set_device(0)
    assert torch.ones(3, device=D).sum().item() == 3


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@on_plugin
def test_losses_have_no_dimensions(dtype):
    scores = torch.randn(3, 5, device=D).to(getattr(torch, dtype)).requires_grad_()
    target = torch.tensor([1, 2, 4], device=D)
    for reduction in ("mean", "sum"):
        loss = F.cross_entropy(scores, target, reduction=reduction)
        assert loss.shape == () and torch.stack([loss, loss]).shape == (2,) and f"{loss:.3f}"
        loss.backward()
    assert F.cross_entropy(scores, target, reduction="none").shape == (3,)
