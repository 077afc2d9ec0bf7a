"""In-place operations on a device write over the tensor's memory where MindSpore has such a kernel, and compute what the CPU computes."""
from __future__ import annotations

import math

import pytest

import mstorch as torch
import mstorch.nn.functional as F
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
D = "npu"

# By name: the call, and how many tensors of the target's size torch allocates besides: without autograd, and where it records the call.
CALLS = {
    "add": (lambda x, y: x.add_(y), 0, 0), "add a number": (lambda x, y: x.add_(3), 0, 0), "add a row": (lambda x, y: x.add_(y[0]), 0, 0),
    "add scaled": (lambda x, y: x.add_(y, alpha=2), 0, 0), "sub": (lambda x, y: x.sub_(y), 0, 0), "sub a number": (lambda x, y: x.sub_(1), 0, 0),
    "mul": (lambda x, y: x.mul_(y), 0, 0), "mul by a number": (lambda x, y: x.mul_(2), 0, 0), "relu": (lambda x, y: torch.relu_(x), 0, 0),
    "iadd": (lambda x, y: x.__iadd__(y), 0, 0), "clamp": (lambda x, y: x.clamp_(1, 2), 0, 1), "clamp_min": (lambda x, y: x.clamp_(min=1), 0, 1),
    "floor_divide": (lambda x, y: x.floor_divide_(2), 0, 0), "remainder": (lambda x, y: x.remainder_(2), 0, 0),
    "masked_fill": (lambda x, y: x.masked_fill_(y > 1, 2), 0.25, 1.25), "zero": (lambda x, y: x.zero_(), 0, 0),
    "fill": (lambda x, y: x.fill_(2), 0, 0), "copy": (lambda x, y: x.copy_(y), 0, 0),
}  # fmt: skip
OF_FLOATS = {
    "div": (lambda x, y: x.div_(y), 0, 0), "div by a number": (lambda x, y: x.div_(3), 0, 0), "exp": (lambda x, y: x.exp_(), 0, 0),
    "log": (lambda x, y: x.log_(), 0, 1), "tanh": (lambda x, y: x.tanh_(), 0, 0), "sigmoid": (lambda x, y: x.sigmoid_(), 0, 0),
    "floor": (lambda x, y: x.floor_(), 0, 0), "erfinv": (lambda x, y: x.erfinv_(), 0, 1), "silu": (lambda x, y: F.silu(x, inplace=True), 0, 1),
    "elu": (lambda x, y: F.elu_(x, 0.5), 0, 1), "hardtanh": (lambda x, y: F.hardtanh_(x, 0.25, 1.5), 0, 1),
    "threshold": (lambda x, y: F.threshold_(x, 1, 0.5), 0, 1), "div and round": (lambda x, y: x.div_(0.75, rounding_mode="floor"), 1, 1),
}  # fmt: skip
ALL = {**CALLS, **OF_FLOATS}
WITHOUT_GRADIENT = ("floor_divide", "div and round")
LAYOUTS = {
    "whole": lambda base: base, "transposed": lambda base: base.t(), "rows": lambda base: base[1:3], "columns": lambda base: base[:, ::2],
}  # fmt: skip


def _both(kind, layout, recorded, call):
    """Return the base after the call, its version, and the gradients, on the CPU and on the device."""
    told = []
    for device in ("cpu", D):
        leaf = (torch.arange(36).reshape(6, 6) % 7 - 2).to(torch.float64).div(4 if kind.is_floating_point else 1).to(kind).to(device)
        other = (torch.arange(36).reshape(6, 6) % 5 + 1).to(kind).to(device)
        leaf, other = (item.requires_grad_(recorded) for item in (leaf, other))
        base = leaf * 1 if recorded else leaf
        target, beside = layout(base), layout(other)
        returned = call(target, beside)
        assert returned is target
        gradients = []
        if recorded:
            (base * base).sum().backward()
            gradients = [torch.zeros(1) if item.grad is None else item.grad.cpu() for item in (leaf, other)]
        told.append((base.detach().cpu(), base._version, gradients))
    return told


@on_plugin
def test_values_and_gradients_are_those_of_the_cpu():
    wrong = []
    for name, (call, _, _) in ALL.items():
        for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32):
            if not kind.is_floating_point and name in OF_FLOATS:
                continue
            for layout, view in LAYOUTS.items():
                for recorded in (False, True) if kind in (torch.float32, torch.float64) and name not in WITHOUT_GRADIENT else (False,):
                    (base, version, gradients), (base2, version2, gradients2) = _both(kind, view, recorded, call)
                    rtol = 1e-2 if kind in (torch.float16, torch.bfloat16) else 1e-5
                    same = all(torch.allclose(*pair, rtol, rtol, equal_nan=True) for pair in zip([base, *gradients], [base2, *gradients2]))
                    if not same or version != version2 or base.dtype is not base2.dtype:
                        wrong.append((name, kind, layout, recorded, version, version2))
    assert not wrong, wrong


# In-place operations whose operands have other shapes than the target, and none that broadcasts to it.
OF_OTHER_SHAPES = {
    "addmm": lambda x, r: x.addmm_(r(4, 3), r(3, 5)), "addmm scaled": lambda x, r: x.addmm_(r(4, 3), r(3, 5), beta=0.5, alpha=2),
    "addmm of a square": lambda x, r: x[:, :4].addmm_(r(4, 3), r(3, 4)), "addmm transposed": lambda x, r: x.t().addmm_(r(5, 3), r(3, 4)),
    "addmv": lambda x, r: x[0].addmv_(r(5, 3), r(3)), "addr": lambda x, r: x.addr_(r(4), r(5)),
    "addbmm": lambda x, r: x.addbmm_(r(2, 4, 3), r(2, 3, 5)), "baddbmm": lambda x, r: x.view(2, 2, 5).baddbmm_(r(2, 2, 3), r(2, 3, 5)),
    "scatter of less": lambda x, r: x.scatter_(0, torch.tensor([[0, 1, 2]], device=x.device), r(2, 3)),
    "scatter of more": lambda x, r: x.scatter_(1, torch.tensor([[0, 1, 2]], device=x.device), r(3, 7)),
    "scatter_add of more": lambda x, r: x.scatter_add_(0, torch.tensor([[0, 1, 2]] * 6, device=x.device), r(6, 3)),
    "index_add": lambda x, r: x.index_add_(0, torch.tensor([0, 1, 1, 3, 2, 2], device=x.device), r(6, 5)),
    "index_copy": lambda x, r: x.index_copy_(0, torch.tensor([0, 3], device=x.device), r(2, 5)),
    "masked_scatter": lambda x, r: x.masked_scatter_(x > 0.5, r(30)),
    "put": lambda x, r: x.put_(torch.tensor([1, 7], device=x.device), r(2)),
}  # fmt: skip


@pytest.mark.parametrize("recorded", [False, True])
@on_plugin
def test_operands_of_other_shapes(recorded):
    wrong = []
    for name, call in OF_OTHER_SHAPES.items():
        told = []
        for device in ("cpu", D):
            numbers = iter(torch.linspace(0, 1, 200).split(1))
            leaves = []

            def operand(*shape, device=device, numbers=numbers, leaves=leaves):
                values = torch.cat([next(numbers) for _ in range(math.prod(shape))])
                leaves.append(values.reshape(shape).to(device).requires_grad_(recorded))
                return leaves[-1]

            base = operand(4, 5) * 1
            call(base, operand)
            if recorded:
                base.pow(2).sum().backward()
            told.append([base.detach().cpu(), *(leaf.grad.cpu() for leaf in leaves if leaf.grad is not None)])
        same = len(told[0]) == len(told[1]) and all(torch.allclose(want, got, 1e-4, 1e-5) for want, got in zip(*told))
        wrong += [] if same else [name]
    assert not wrong


@on_plugin
def test_memory_beside_the_target():
    size = 2**22
    wrong = []
    for name, (call, alone, recorded) in ALL.items():
        for track in (False, True):
            x, y = (torch.rand(1024, 1024, device=D).add_(0.1) for _ in range(2))
            if track:
                x = x.requires_grad_() * 1.0
            torch.npu.synchronize()
            torch.npu.reset_peak_memory_stats()
            before = torch.npu.memory_allocated()
            call(x, y)
            torch.npu.synchronize()
            beside = (torch.npu.max_memory_allocated() - before) / size
            if beside > (recorded if track else alone) + 0.01:
                wrong.append((name, track, beside))
    assert not wrong, wrong


@on_plugin
def test_what_a_gradient_needs_may_not_be_written_over():
    x = torch.ones(3, device=D, requires_grad=True)
    y = x * 2
    z = y.exp()
    kept = y.sin()
    y.add_(1)
    z.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.sum().backward()
    z.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)
    assert x.tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.ones(3, device=D).add_(torch.ones(2, 3, device=D))
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.ones(3, dtype=torch.int64, device=D).add_(torch.ones(3, device=D))


@on_plugin
def test_operands_that_share_the_memory():
    for kind in ("cpu", D):
        x = torch.arange(9.0, device=kind).reshape(3, 3)
        x.add_(x)
        assert x.flatten().tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16]
        x[1:].sub_(x[:1])
        view = x.t()[1]
        x.add_(1)
        assert view.tolist() == x[:, 1].tolist()
        held = x.detach()
        x.relu_()
        assert held.tolist() == x.tolist()


@on_plugin
def test_hooks_of_saved_tensors_see_old_values_and_lose_no_write():
    index = torch.tensor([1, 0])
    calls = {
        "add": lambda x: x.add_(1), "mul": lambda x: x.mul_(x + 1), "relu": lambda x: x.relu_(), "index_add": lambda x: x.index_add_(0, index.to(x.device), x + 1),
        "scatter_add": lambda x: x.scatter_add_(0, index.to(x.device), x + 1), "masked_fill": lambda x: x.masked_fill_(x > 0, 3),
        "index_put": lambda x: x.__setitem__(index.to(x.device), 7.0), "part": lambda x: x[1:].add_(1), "copy": lambda x: x.copy_(x + 1),
    }
    for name, call in calls.items():
        results = []
        for device in ("cpu", D):
            for tracked in (False, True):
                packed = []
                with torch.autograd.graph.saved_tensors_hooks(lambda x: packed.append(x.detach().clone()) or x, lambda x: x):
                    x = torch.tensor([-1.0, 2.0], device=device, requires_grad=tracked)
                    y = x * 1 if tracked else x
                    call(y)
                results.append((y.detach().cpu().tolist(), y._version, [one.cpu().tolist() for one in packed]))
        assert results[:2] == results[2:], (name, results)
