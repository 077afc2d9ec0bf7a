"""Dtypes, numbers and refusals on MindSpore's Ascend plugin against real torch, where the device once raised or kept silent."""
from __future__ import annotations

import pytest
import torch as real_torch

import mstorch
from tests.cann.plugin import on_plugin
from tests.cann.test_values import _array, _same

pytestmark = pytest.mark.slow

COMPLEX_WRITES = {
    "an element": lambda torch, x: x.__setitem__(0, 1j), "a column": lambda torch, x: x.__setitem__((slice(None), 1), 2 + 1j),
    "all": lambda torch, x: x.fill_(2j), "by a mask": lambda torch, x: x.masked_fill_(x.real > 0, 1.5j),
    "a diagonal": lambda torch, x: x.fill_diagonal_(1j), "by an index": lambda torch, x: x.index_fill_(0, torch.tensor([0], device=x.device), 3j),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@on_plugin
def test_complex_numbers_are_written(dtype):
    for write in COMPLEX_WRITES.values():
        def body(torch, device, write=write):
            x = torch.zeros(3, 3, dtype=getattr(torch, dtype), device=device)
            x[1, 1] = 1
            write(torch, x)
            return x.real, x.imag

        _same(body)


@on_plugin
def test_layers_of_complex_numbers():
    for kind, part in (("complex64", "float32"), ("complex128", "float64")):
        layer = mstorch.nn.Linear(64, 64, dtype=getattr(mstorch, kind), device="npu")
        weights = mstorch.view_as_real(layer.weight.detach()).cpu()
        assert str(weights.dtype) == f"torch.{part}" and 0.1 < weights.abs().max().item() <= 0.125
        drawn = mstorch.view_as_real(mstorch.randn(4000, dtype=getattr(mstorch, kind), device="npu")).cpu()
        assert (drawn.var(0) - 0.5).abs().max().item() < 0.05 and drawn.mean(0).abs().max().item() < 0.05

    def body(torch, device):
        x = torch.ones(2, dtype=torch.int64, device=device).view(torch.complex64)
        return x.real, x.imag

    _same(body)


@on_plugin
def test_clamp_of_booleans():
    def body(torch, device):
        x, low = torch.tensor([True, False, True], device=device), torch.tensor([False, True, False], device=device)
        return x.clamp(low), x.clamp(max=low), x.clamp(0, 1)

    _same(body)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@on_plugin
def test_grids_of_half_precision(dtype):
    for sizes in ((3, 4), (3, 4, 2)):
        def body(torch, device, sizes=sizes):
            x = torch.from_numpy(_array(1, 2, *sizes)).to(device).to(getattr(torch, dtype)).requires_grad_()
            grid = torch.from_numpy(_array(1, *sizes, len(sizes)) * 0.9).to(device).to(getattr(torch, dtype)).requires_grad_()
            if device == "cpu":  # torch's kernels of devices sample in single precision, and round once
                y = torch.nn.functional.grid_sample(x.float(), grid.float(), align_corners=False).to(x.dtype)
            else:
                y = torch.nn.functional.grid_sample(x, grid, align_corners=False)
            y.float().sum().backward()
            return y, x.grad, grid.grad

        _same(body, 2e-2 if dtype == "float16" else 1e-1)


WEIGHTS = {"zeros": [0.0, 0.0], "negative": [-1.0, 2.0], "nan": [float("nan"), 1.0], "infinite": [float("inf"), 1.0], "a row": [[1.0, 0.0], [0.0, 0.0]]}


@pytest.mark.parametrize("name", WEIGHTS)
@on_plugin
def test_multinomial_refuses_weights(name):
    for count, replacement in ((1, False), (1, True), (2, False)):
        messages = []
        for torch, device in ((real_torch, "cpu"), (mstorch, "npu")):
            with pytest.raises(RuntimeError) as raised:
                torch.multinomial(torch.tensor(WEIGHTS[name], device=device), count, replacement)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]


@on_plugin
def test_multinomial_draws():
    drawn = mstorch.multinomial(mstorch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], device="npu"), 1).cpu()
    assert drawn.tolist() == [[1], [0]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@on_plugin
def test_grids_of_affine_maps_under_autocast(dtype):
    for size in ((2, 1, 3, 4), (2, 1, 2, 3, 4)):
        def body(torch, device, size=size):
            theta = torch.from_numpy(_array(2, len(size) - 2, len(size) - 1)).float().to(device).requires_grad_()
            with torch.autocast(device, dtype=getattr(torch, dtype)):
                grid = torch.nn.functional.affine_grid(theta, size, align_corners=False)
            grid.float().sum().backward()
            return grid, theta.grad

        _same(body, 2e-2)


@on_plugin
def test_the_share_of_a_number_in_xlogy_and_logit_in_double_precision():
    def body(torch, device):
        x = torch.from_numpy(_array(3, 4)).to(device).abs().requires_grad_()
        results = torch.xlogy(x, 1.1), torch.special.xlog1py(x, 1.1), torch.xlogy(1.1, x), torch.logit(x, 0.1), torch.logit(x, eps=0.3)
        sum(result.sum() for result in results).backward()
        return *results, x.grad

    _same(body, 1e-12)


@on_plugin
def test_norms_of_nothing():
    def body(torch, device):
        x = torch.zeros(0, 2, 5, device=device, requires_grad=True)
        layer = torch.nn.BatchNorm1d(2).to(device)
        for result in (layer(x), layer.eval()(x), torch.nn.functional.instance_norm(x)):
            result.sum().backward()
        return x.grad, layer.running_mean, layer.running_var

    _same(body)


@pytest.mark.parametrize("randomness", ["same", "different"])
@on_plugin
def test_slices_of_vmap_draw_the_same_numbers_or_others(randomness):
    torch = mstorch
    for draw in (
        lambda x: torch.nn.functional.dropout(x + torch.ones(40, device="npu"), 0.5), lambda x: x + (x * 0).normal_(),
        lambda x: x + torch.rand(40, device="npu"), lambda x: x + torch.bernoulli(torch.full((40,), 0.5, device="npu")),
    ):
        rows = torch.vmap(draw, randomness=randomness)(torch.zeros(3, 40, device="npu")).cpu()
        assert bool((rows[0] == rows[1]).all()) is bool((rows[1] == rows[2]).all()) is (randomness == "same")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@on_plugin
def test_norms_whose_parameters_lie_in_steps(dtype):
    def body(torch, device):
        x = torch.from_numpy(_array(2, 4, 3, 5)).to(device).to(getattr(torch, dtype)).requires_grad_()
        F, weight, bias = torch.nn.functional, x[0, :, 0, 0], x[0, :, 1, 1]
        results = F.group_norm(x, 2, weight, bias), F.batch_norm(x, None, None, weight, bias, True), F.layer_norm(x, (5,), x[0, 0, 0], x[0, :, 2, 0].repeat(2)[:5])
        sum((result * result).float().sum() for result in results).backward()
        return *results, x.grad

    _same(body, 1e-4 if dtype == "float32" else 6e-2)


@on_plugin
def test_roots_and_integers_are_torchs():
    def body(torch, device):
        x = torch.tensor([-float("inf"), -0.0, 0.0, 4.0], dtype=torch.float64, device=device)
        first, second = torch.rand(2, 3, 1, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
        first, second = first.to(device).mul(0).add(0.5).requires_grad_(), second.to(device)
        torch.nextafter(first, second).sum().backward()
        return torch.signbit(x**0.5), (x**0.5)[1:], (x**-0.5)[3:], torch.isnan(x**0.5), first.grad

    _same(body)
    whole = mstorch.ones(3, dtype=mstorch.int32, device="npu")
    for call in (mstorch.frac, lambda x: mstorch.logaddexp2(x, x)):
        with pytest.raises(NotImplementedError):
            call(whole)
    assert mstorch.nn.functional.adaptive_max_pool2d(mstorch.ones(0, 2, 4, 4, device="npu"), 2).shape == (0, 2, 2, 2)


@on_plugin
def test_complex_numbers_are_added_where_an_index_says():
    def body(torch, device):
        x = torch.zeros(3, 4, dtype=torch.complex64, device=device)
        values, index = torch.complex(torch.ones(3, 4), torch.arange(12.0).reshape(3, 4)).to(device), torch.tensor([[0, 2, 1, 0]] * 3, device=device)
        memory = torch.complex(torch.arange(6.0), torch.ones(6)).to(device).requires_grad_()
        shown = memory.as_strided((3, 3), (1, 1))
        (shown * shown).sum().real.backward()
        results = x.scatter_add(0, index, values), x.index_add(0, index[0, :3], values), memory.grad
        return [part for result in results for part in (result.real, result.imag)]

    _same(body)


@on_plugin
def test_functions_of_nothing():
    def body(torch, device):
        x = torch.zeros(0, 3, device=device)
        F, special = torch.nn.functional, torch.special
        return (
            x.argmax(1), x.argmin(1, keepdim=True), torch.digamma(x), torch.lgamma(x), torch.i0(x), special.gammainc(x, x), special.polygamma(2, x),
            F.batch_norm(x[..., None], None, None, training=True), x.index_add(1, torch.zeros(0, dtype=torch.int64, device=device), x[:, :0]),
            F.softmax(x, 1), F.gelu(x), x.sort(1)[1], x.cumsum(0), F.mish(x), special.erfinv(x), torch.angle(x), x @ torch.ones(3, 2, device=device),
        )

    _same(body)


@on_plugin
def test_tangents_of_tensors_with_gaps_stay_on_the_device() -> None:
    column = mstorch.arange(9.0, device="npu").reshape(3, 3)[:, 0]
    with mstorch.autograd.forward_ad.dual_level():
        dual = mstorch.autograd.forward_ad.make_dual(column, mstorch.ones(3, device="npu"))
        tangent = mstorch.autograd.forward_ad.unpack_dual(dual * 2).tangent
    assert tangent.is_npu and tangent.tolist() == [2, 2, 2]
