"""Values, shapes and dtypes on MindSpore's Ascend plugin against real torch, where they once differed in silence."""
from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.cann.plugin import on_plugin
from tests.ops.memory.test_expanded_targets import SHAPES, WRITES

pytestmark = pytest.mark.slow


def _array(*shape):
    return np.random.RandomState(0).rand(*shape) * 2 - 1


def _same(body, tolerance=1e-5):
    """Compare a function of the library and of a device's name, with real torch on the CPU and with mstorch on the device."""
    wanted, results = body(real_torch, "cpu"), body(mstorch, "npu")
    for want, result in zip(wanted, results, strict=True):
        result = result.detach().cpu()
        assert (str(want.dtype), tuple(want.shape)) == (str(result.dtype), tuple(result.shape))
        np.testing.assert_allclose(result.double().numpy(), want.detach().double().numpy(), tolerance, tolerance)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("factor", [1.7, 0.6, 2.3])
@on_plugin
def test_interpolation_by_a_factor(factor, mode):
    for sizes in ((7,), (7, 7), (5, 5, 5)):
        def body(torch, device, sizes=sizes):
            x = torch.arange(2.0 * math.prod(sizes), device=device).reshape(1, 2, *sizes).requires_grad_()
            y = torch.nn.functional.interpolate(x, scale_factor=factor, mode=mode)
            (y * y).sum().backward()
            return y, x.grad

        _same(body)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@on_plugin
def test_dilated_max_pools(dtype):
    for sizes in ((9,), (9, 8), (7, 6, 7)):
        for padding in (0, 1):
            def body(torch, device, sizes=sizes, padding=padding):
                x = torch.from_numpy(_array(1, 2, *sizes)).to(device).to(getattr(torch, dtype)).requires_grad_()
                pool = getattr(torch.nn.functional, f"max_pool{len(sizes)}d")
                y = pool(x, 2, 1, padding, dilation=2)
                (y * y).sum().backward()
                return *pool(x, 2, 1, padding, dilation=2, return_indices=True), y, x.grad

            _same(body, 1e-5 if dtype in ("float32", "float64") else 2e-2)


@on_plugin
def test_indices_of_pools_are_those_that_unpooling_takes():
    def body(torch, device):
        y, index = torch.nn.functional.max_pool2d(torch.arange(36.0, device=device).reshape(1, 1, 6, 6), 2, return_indices=True)
        return y, index, torch.nn.functional.max_unpool2d(y, index, 2)

    _same(body)


@on_plugin
def test_writes_into_expanded_tensors():
    for write in WRITES.values():
        for shape in SHAPES:
            def body(torch, device, write=write, shape=shape):
                # torch.device lets torch refuse more
                with contextlib.nullcontext() if device == "cpu" else torch.device(device):
                    base = torch.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape)
                    x = base.expand(3, 4)
                    try:
                        write(torch, x)
                    except RuntimeError as error:
                        assert "more than one element" in str(error)
                        return (torch.zeros(1, device=device),)
                return x, base, torch.ones(2, device=device) + 1

            _same(body)


NUMBERS = {
    "full": lambda torch, F, x: torch.full_like(x, 1.1), "fill": lambda torch, F, x: torch.zeros_like(x).fill_(1.1),
    "pad": lambda torch, F, x: F.pad(x, (1, 1), value=1.1), "hardtanh": lambda torch, F, x: F.hardtanh(x, -0.3, 0.3),
    "softplus": lambda torch, F, x: F.softplus(x, beta=1.1), "leaky_relu": lambda torch, F, x: F.leaky_relu(x, 0.3),
    "scatter": lambda torch, F, x: x.scatter(1, torch.zeros(3, 1, dtype=torch.int64, device=x.device), 1.1),
    "add": lambda torch, F, x: torch.add(x, x, alpha=1.1), "lerp": lambda torch, F, x: torch.lerp(x, x * 2, 0.3),
    "batch_norm": lambda torch, F, x: (lambda layer: (layer(x).sum() + layer.running_mean.sum() + layer.running_var.sum()))(
        torch.nn.BatchNorm1d(4, momentum=0.3).double().to(x.device)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
@on_plugin
def test_numbers_for_double_precision_keep_their_digits(name):
    def body(torch, device):
        x = torch.from_numpy(_array(3, 4)).to(device).requires_grad_()
        y = NUMBERS[name](torch, torch.nn.functional, x)
        if y.requires_grad:
            (y * y).sum().backward()
        return (y,) if x.grad is None else (y, x.grad)

    _same(body, 1e-12)


SOLIDS = [
    ((2, 2, 2), (2, 2, 2), (0, 0, 0), (5, 6, 7), False), ((3, 2, 3), (1, 2, 2), (1, 0, 1), (5, 6, 7), False),
    ((2, 3, 2), (2, 1, 3), (1, 1, 1), (5, 4, 7), False), ((3, 3, 3), (2, 2, 2), (0, 0, 0), (6, 6, 6), True),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(SOLIDS)))
@pytest.mark.parametrize("numbers", ["different", "equal"])
@on_plugin
def test_pools_of_solids(case, numbers):
    kernel, stride, padding, sizes, ceil = SOLIDS[case]
    values = _array(2, 3, *sizes).astype(np.float32)
    values = values if numbers == "different" else np.round(values * 2)

    def body(torch, device):
        x = torch.from_numpy(values).to(device).requires_grad_()
        pool = torch.nn.functional.max_pool3d
        y = pool(x, kernel, stride, padding, ceil_mode=ceil)
        (y * torch.arange(float(y.numel()), device=device).reshape(y.shape)).sum().backward()
        return *pool(x, kernel, stride, padding, ceil_mode=ceil, return_indices=True), y, x.grad

    _same(body)


@pytest.mark.parametrize("out", [(2, 3, 3), (1, 1, 1), (3, 2, 5)])
@on_plugin
def test_adaptive_pools_of_solids(out):
    for sizes in ((5, 6, 7), (3, 3, 8)):
        def body(torch, device, sizes=sizes):
            x = torch.from_numpy(_array(2, 3, *sizes)).float().to(device)
            return torch.nn.functional.adaptive_max_pool3d(x, tuple(out), return_indices=True)

        _same(body)


@on_plugin
def test_targets_of_classes_in_int32_as_torch_npu_takes_them():
    x = mstorch.randn(6, 4, device="npu")
    target = mstorch.tensor([0, 3, 1, 2, 2, 0])
    for loss in (mstorch.nn.functional.cross_entropy, mstorch.nn.functional.nll_loss):
        for reduction in ("mean", "sum", "none"):
            given = x.log_softmax(1)
            assert mstorch.equal(loss(given, target.int().npu(), reduction=reduction), loss(given, target.npu(), reduction=reduction))
    with pytest.raises(RuntimeError, match="Long or Byte"):
        mstorch.nn.functional.nll_loss(x, target.short().npu())


@on_plugin
def test_half_precision_is_rounded_once_where_operations_compute_a_sample():
    x, grid = (mstorch.rand(2, 1, 2, 3, 4) * 10).half(), (mstorch.rand(2, 2, 2, 2, 3) * 2 - 1).half()
    results = []
    for device, dtype in (("cpu", mstorch.float32), ("npu", mstorch.float16)):
        leaves = [tensor.to(device, dtype).requires_grad_() for tensor in (x, grid)]
        sampled = mstorch.nn.functional.grid_sample(*leaves, align_corners=True)
        assert type(sampled.grad_fn).__name__ == "GridSampler3DBackward0"
        sampled.sum().backward()
        results.append([tensor.detach().cpu().half() for tensor in (sampled, *(leaf.grad for leaf in leaves))])
    for wanted, given in zip(*results, strict=True):
        assert mstorch.equal(wanted, given)
