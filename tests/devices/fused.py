"""Attention, gradients of activations and optimizer steps in few kernels on the stand-in device, compared with the CPU: ``python -m
tests.devices.fused``."""
from __future__ import annotations

from typing import Any

import numpy as np

import mstorch as torch
from mstorch._src.backend import cost, fake, table
from mstorch._src.backend.ascend.documented import DOCUMENTED, PAGE_OF
from mstorch._src.core.storage import home
from mstorch.nn._functional import fused_attention

F = torch.nn.functional
INF = float("inf")


def _attended(kind: Any, place: str, mask: Any, heads: int, shape: tuple[int, ...], rest: dict[str, Any]) -> tuple[list[Any], str]:
    torch.manual_seed(1)
    query = torch.randn(*shape)
    key, value = (torch.randn(*shape[:-3], heads, *shape[-2:]) if len(shape) == 4 else torch.randn(*shape) for _ in range(2))
    leaves = [item.to(kind).to(place).requires_grad_() for item in (query, key, value)]
    torch.manual_seed(2)  # the device's numbers are a stream of their own
    found = F.scaled_dot_product_attention(*leaves, attn_mask=None if mask is None else mask.to(place), **rest)
    name = found.grad_fn.name()
    found.float().square().sum().backward()
    return [item.detach().float().cpu() for item in (found, *(leaf.grad for leaf in leaves))], name


def attention() -> list[str]:
    """Return calls that differ, launch more kernels than expected, or read values from the device."""
    torch.rand(1, device="npu")  # MindSpore reads its generator's state once, when it is made
    torch.manual_seed(5)
    mask = torch.rand(6, 6) > 0.5
    mask[2] = False
    four, three = (2, 4, 6, 16), (3, 6, 16)
    cases: list[tuple[str, Any, int, tuple[int, ...], dict[str, Any], bool]] = [
        ("plain", None, 4, four, {}, True), ("causal", None, 4, four, {"is_causal": True}, True),
        ("mask", mask, 4, four, {}, True), ("mask of four dimensions", mask[None, None], 4, four, {}, True),
        ("mask of each batch", torch.rand(2, 1, 6, 6) > 0.3, 4, four, {}, True), ("padding", torch.rand(2, 1, 1, 6) > 0.3, 4, four, {}, True),
        ("grouped", None, 2, four, {"enable_gqa": True}, True), ("scale", None, 4, four, {"scale": 0.3}, True),
        ("three dimensions", None, 3, three, {"is_causal": True}, True), ("mask of three", torch.rand(3, 6, 6) > 0.3, 3, three, {}, True),
        ("odd heads", None, 4, (2, 4, 6, 5), {}, True), ("odd heads and a mask", mask, 4, (2, 4, 6, 20), {"scale": 0.3}, True), ("dropout of six keys", None, 4, four, {"dropout_p": 0.4}, False),
        ("dropout", None, 2, (2, 4, 8, 16), {"dropout_p": 0.4, "enable_gqa": True}, True), ("dropout and a mask", torch.rand(8, 8) > 0.3, 4, (2, 4, 8, 16), {"dropout_p": 0.4}, True),
        ("dropout and a mask that is added", _added((8, 8)), 4, (2, 4, 8, 16), {"dropout_p": 0.9}, True), ("dropout, three dimensions", None, 3, (3, 8, 16), {"dropout_p": 0.4, "is_causal": True}, True),
        *((f"added, {size}", _added(size), 2, four, {"enable_gqa": True}, True) for size in ((6, 6), (2, 1, 6, 6), (1, 1, 1, 6), (2, 4, 6, 6), (1, 4, 6, 6), (2, 1, 1, 6))),
        ("added, all hidden", torch.full((6, 6), -INF), 4, four, {}, True), ("added, of three", _added((3, 6, 6)), 3, three, {"scale": -0.2}, True),
        ("lowest", torch.where(mask, 0.0, torch.finfo(torch.bfloat16).min), 4, four, {}, True),
    ]  # fmt: skip
    wrong = []
    for name, given, heads, shape, rest, fused in cases:
        for kind, most in ((torch.float32, 1e-4), (torch.float16, 8e-3), (torch.bfloat16, 8e-2)):
            own = given.to(kind) if given is not None and given.is_floating_point() else given
            here, _ = _attended(kind, "cpu", own, heads, shape, rest)
            fake.replaced.clear()
            fake.transfers.clear()
            there, _ = _attended(kind, "npu", own, heads, shape, rest)
            count = fake.replaced["attention"], fake.replaced["attention_grad"]
            if not all(torch.allclose(a, b, most, most) for a, b in zip(here, there)) or count != (int(fused), int(fused)):
                wrong.append(f"attention, {name}, {kind}: {count} {[float((a - b).abs().max()) for a, b in zip(here, there)]}")
            if sum(fake.transfers.values()) > 4 + ("dropout_p" in rest):  # the four results, and once the state of the generator
                wrong.append(f"attention, {name}: {dict(fake.transfers)}")
    return wrong


def _added(shape: tuple[int, ...]) -> Any:
    """Return a mask to be added: numbers, among which -inf, and one row of -inf alone."""
    made = torch.where(torch.rand(shape) < 0.3, -INF, torch.randn(shape))
    made[..., -1, :] = -INF
    return made


def slopes_of_attention() -> list[str]:
    """Return calls whose second derivatives differ from the CPU's, where the heads lie beside one another in memory too, and where masks
    are so large that they are not copied for each head."""
    large, wrong = fused_attention.LARGE, _slopes()
    fused_attention.LARGE = 0
    wrong += _slopes()
    for shape, groups in (((6, 6), 4), ((6, 6), 2), ((2, 1, 6, 6), 4), ((2, 1, 6, 6), 2)):
        mask = _added(shape).npu()
        F.scaled_dot_product_attention(torch.ones(2, 4, 6, 16).npu(), *[torch.ones(2, groups, 6, 16).npu()] * 2, mask, enable_gqa=True)
        copied = home(mask).derived[1][1].numel() // mask.numel()
        if copied != 4 // groups:
            wrong.append(f"a mask {shape} is copied for {copied} heads of {groups} groups")
    fused_attention.LARGE = large
    return wrong


def _slopes() -> list[str]:
    wrong = []
    masks = {"none": None, "truths": torch.rand(2, 1, 6, 6) > 0.4, "added": _added((2, 1, 6, 6)), "rows": _added((6, 6))}
    for name, mask in masks.items():
        for groups in (4, 2):
            for size in (16, 5):
                for turned in (False, True):
                    for causal in (False, True) if mask is None else (False,):
                        found = []
                        for place in ("cpu", "npu"):
                            torch.manual_seed(0)
                            leaves = [torch.randn(2, 6, heads, size) for heads in (4, groups, groups)]
                            leaves = [(item if turned else item.transpose(1, 2).contiguous()).to(place).requires_grad_() for item in leaves]
                            parts = [item.transpose(1, 2) for item in leaves] if turned else leaves
                            y = F.scaled_dot_product_attention(*parts, None if mask is None else mask.to(place), is_causal=causal, enable_gqa=True)
                            slopes = torch.autograd.grad((y**3).sum(), leaves, create_graph=True)
                            second = torch.autograd.grad(sum(slope.square().sum() for slope in slopes), leaves)
                            found.append(([item.detach().cpu() for item in (y, *slopes, *second)], y.stride()))
                        if found[0][1] != found[1][1] or not all(torch.allclose(a, b, 1e-3, 1e-3) for a, b in zip(found[0][0], found[1][0], strict=True)):
                            wrong.append(f"attention twice, {name}, {groups}, {size}, {turned}, {causal}: {found[0][1]} {found[1][1]}")
    return wrong


def _write_by_data(mask: Any) -> None:
    mask.data[0, 0] = -3.0


WRITES: dict[str, Any] = {
    "slice": lambda mask: mask[..., 0].fill_(-2.0), "data": _write_by_data, "copy": lambda mask: mask.copy_(mask.flip(0)), "out": lambda mask: torch.neg(mask, out=mask),
    "put": lambda mask: mask.index_fill_(1, torch.tensor([2], device=mask.device), 0.5), "view": lambda mask: mask.view(-1).mul_(0.5),
}  # fmt: skip


def kept_masks() -> list[str]:
    """Return what is wrong with masks that several calls share: their rows are examined once, and again after each kind of write."""
    wrong = []
    x, drawn = torch.randn(2, 4, 6, 16), torch.randn(6, 6)
    for kind, first, most in (("added", drawn, 3), ("truths", drawn > 0, 2)):
        mask = first.npu().clone()
        F.scaled_dot_product_attention(*[x.npu()] * 3, mask)
        with cost.counted() as counted:
            F.scaled_dot_product_attention(*[x.npu()] * 3, mask)
        if sum(counted.kernels.values()) != most:
            wrong.append(f"a second call with the same mask, {kind}: {counted.text()}")
    for name, write in WRITES.items():
        found = []
        for place in ("cpu", "npu"):
            mask, given = drawn.clone().to(place), x.to(place)
            calls = [F.scaled_dot_product_attention(given, given, given, mask)]
            write(mask)
            calls += [F.scaled_dot_product_attention(given, given, given, mask), F.scaled_dot_product_attention(given, given, given, mask.t())]
            with torch.inference_mode():
                F.scaled_dot_product_attention(given, given, given, mask)
            calls.append(F.scaled_dot_product_attention(given.clone().requires_grad_(), given, given, mask))
            calls[-1].sum().backward()
            found.append([item.detach().cpu() for item in calls])
        if not all(torch.allclose(a, b, 1e-4, 1e-5) for a, b in zip(*found)) or torch.allclose(*found[0][:2]):
            wrong.append(f"a mask that is written to, {name}")
    return wrong


def products() -> list[str]:
    """Return calls of ``addmm`` and ``baddbmm`` that differ from the CPU, with both derivatives, or launch another number of kernels."""
    wrong = []
    matrices, batches = [(3, 5), (5, 4)], [(2, 3, 5), (2, 5, 4)]
    for name, shapes, rest, kernels in (
        ("addmm", [(4,), *matrices], {}, 1), ("addmm", [(3, 4), *matrices], {"beta": 0.5, "alpha": 2}, 1), ("addmm", [(3, 1), *matrices], {"beta": 0}, 3),
        ("baddbmm", [(3, 1), *batches], {"beta": 0.5}, 1), ("baddbmm", [(2, 3, 4), *batches], {"alpha": -1.0}, 1),
    ):  # fmt: skip
        for kind, most in ((torch.float32, 1e-4), (torch.bfloat16, 0.1)):
            found = []
            for place in ("cpu", "npu"):
                torch.manual_seed(0)
                leaves = [torch.randn(*shape).to(kind).to(place).requires_grad_() for shape in shapes]
                with cost.counted() as counted:
                    result = getattr(torch, name)(*leaves, **rest)
                slopes = torch.autograd.grad(result.float().square().sum(), leaves, create_graph=True)
                second: Any = () if kind is torch.bfloat16 else torch.autograd.grad(sum(slope.float().square().sum() for slope in slopes), leaves, allow_unused=True)
                found.append([item.detach().float().cpu() for item in (result, *slopes, *second) if item is not None])
            alike = all(torch.allclose(a, b, most, most) for a, b in zip(*found, strict=True))
            many = sum(counted.kernels.values())
            if not alike or (many > kernels and kind is torch.float32):
                wrong.append(f"{name}, {rest}, {kind}: {many} kernels, alike {alike}")
    return wrong


def norms() -> list[str]:
    """Return group norms that differ from the CPU's, with both derivatives, or launch more than one kernel each in forward and backward
    (half precision with gradients is computed in single precision)."""
    wrong = []
    for shape, groups in (((2, 4, 3, 3), 2), ((3, 6), 3), ((2, 4, 5), 4), ((2, 4, 2, 3, 2), 1)):
        for kind, near in ((torch.float32, 1e-4), (torch.float16, 2e-2), (torch.bfloat16, 1e-1)):
            found = []
            for place in ("cpu", "npu"):
                torch.manual_seed(2)
                x, weight, bias, g = (torch.randn(size).to(kind).to(place) for size in (shape, shape[1], shape[1], shape))
                leaves = [item.requires_grad_() for item in (x, weight, bias)]
                with cost.counted() as there:
                    y = F.group_norm(*leaves[:1], groups, *leaves[1:])
                with cost.counted() as back:
                    y.backward(g)
                parts = [y.detach(), *(leaf.grad for leaf in leaves)]
                if kind is torch.float32:
                    slope = torch.autograd.grad((F.group_norm(x, groups, weight, bias) ** 3).sum(), (x, weight), create_graph=True)
                    parts += torch.autograd.grad((slope[0] ** 2).sum() + slope[1].sum(), (x, weight, bias))
                found.append([part.float().cpu() for part in parts])
            if not all(torch.allclose(a, b, near, near) for a, b in zip(*found)):
                wrong.append(f"group norm, {shape}, {kind}: {found}")
            with cost.counted() as alone, torch.no_grad():
                F.group_norm(x, groups, weight, bias)
            for counted in (alone, there, back) if kind is torch.float32 else (alone,):
                if sum(counted.kernels.values()) + sum(counted.casts.values()) > 1:
                    wrong.append(f"group norm, {shape}, {kind}: {counted.text()}")
    return wrong


def tuned() -> list[str]:
    """Return batch norms in evaluation mode whose gradients differ from the CPU's or take more kernels than those that are needed."""
    wrong = []
    for trained, most in ((True, 9), (False, 4)):
        found = []
        for place in ("cpu", "npu"):
            torch.manual_seed(0)
            layer, x = torch.nn.BatchNorm1d(5), torch.randn(4, 5, 3)
            layer(x)
            layer = layer.eval().to(place).requires_grad_(trained)
            leaf = x.to(place).requires_grad_()
            y, g = layer(leaf), torch.randn(4, 5, 3).to(place)
            with cost.counted() as counted:
                y.backward(g)
            found.append([item.detach().cpu() for item in (y, leaf.grad, *(p.grad for p in layer.parameters() if trained))])
        if not all(torch.allclose(a, b, 1e-4, 1e-5) for a, b in zip(*found)) or sum(counted.kernels.values()) > most:
            wrong.append(f"batch norm in evaluation, trained {trained}: {counted.text()}")
    return wrong


def known_positions() -> list[str]:
    """Return calls with positions that the host knows, or rows of limited norm, that send or read anything, or differ from the CPU's."""
    wrong = []
    calls: dict[str, Any] = {
        "one_hot": lambda i, m, x: F.one_hot(i, 5), "index_fill": lambda i, m, x: x.index_fill(0, i, 2.0), "masked_scatter": lambda i, m, x: x.masked_scatter(m, -x),
        "rows of limited norm": lambda i, m, x: F.embedding(i[None], x.clone(), max_norm=0.5), "rows of another norm": lambda i, m, x: F.embedding(i, x.clone(), max_norm=0.5, norm_type=1.0),
    }  # fmt: skip
    torch.manual_seed(0)
    given = torch.tensor([3, 0, 3]), torch.rand(5, 4) > 0.5, torch.randn(5, 4)
    for name, call in calls.items():
        there = [item.npu() for item in given]
        call(*there)  # constants are sent once
        with cost.counted() as counted:
            found = call(*there)
        if counted.copies or counted.reads or not torch.allclose(call(*given), found.cpu(), 1e-5, 1e-6):
            wrong.append(f"{name}: {counted.text()}")
    return wrong


ENDS = [-INF, -7.0, -3.0, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 3.0, 6.0, 7.0, 25.0, INF]
ACTIVATIONS: dict[str, tuple[Any, int]] = {  # with the kernels of the gradient
    "relu": (F.relu, 1), "gelu": (F.gelu, 1), "gelu, tanh": (lambda x: F.gelu(x, approximate="tanh"), 1), "silu": (F.silu, 1), "sigmoid": (torch.sigmoid, 1),
    "tanh": (torch.tanh, 1), "leaky_relu": (lambda x: F.leaky_relu(x, 0.125), 1), "elu": (lambda x: F.elu(x, 1.25), 1), "selu": (F.selu, 2),
    "celu": (lambda x: F.celu(x, 2.0), 2), "softplus": (F.softplus, 1), "softplus, bound": (lambda x: F.softplus(x, 2, 5), 1), "mish": (F.mish, 1),
    "hardsigmoid": (F.hardsigmoid, 1), "hardswish": (F.hardswish, 7), "relu6": (F.relu6, 3), "hardtanh": (lambda x: F.hardtanh(x, -0.5, 1.5), 3),
    "softshrink": (F.softshrink, 1), "hardshrink": (F.hardshrink, 1), "threshold": (lambda x: F.threshold(x, 0.5, 3.0), 1), "logsigmoid": (F.logsigmoid, 3),
}  # fmt: skip


def _name(kind: torch.dtype) -> str:
    return str(kind).rpartition(".")[2]


def activations() -> list[str]:
    """Return activations whose gradients differ from the CPU's, also at extreme values, launch more kernels than necessary, or use the
    host for a dtype that CANN's pages name."""
    wrong: list[str] = []
    told: list[str] = []
    table.on_fallback.append(told.append)
    for name, (function, most) in ACTIVATIONS.items():
        for kind, near in ((torch.float32, 1e-5), (torch.float64, 1e-9), (torch.float16, 8e-3), (torch.bfloat16, 2e-2)):
            found = []
            for place in ("cpu", "npu"):
                x = torch.tensor(ENDS, dtype=kind).to(place).requires_grad_()
                y = function(x)
                told.clear()
                with cost.counted() as counted:
                    y.backward(torch.arange(1.0, len(ENDS) + 1).to(kind).to(place))
                found.append(x.grad.cpu().double())
            by_host = [row for row in told if row not in PAGE_OF or _name(kind) in DOCUMENTED[PAGE_OF[row]]]
            if not torch.allclose(*found, near, near, equal_nan=True) or by_host:
                wrong.append(f"gradient of {name}, {kind}: {found}, by the host: {by_host}")
            if kind is torch.float32 and sum(counted.kernels.values()) > most:
                wrong.append(f"gradient of {name}: {dict(counted.kernels)}")
    return wrong


OPTIMIZERS: dict[str, tuple[Any, int]] = {  # with the kernels of a step of one tensor
    "AdamW": (lambda p: torch.optim.AdamW(p, lr=0.1), 2),
    "AdamW, fused": (lambda p: torch.optim.AdamW(p, lr=0.1, fused=True), 2),
    "Adam": (lambda p: torch.optim.Adam(p, lr=0.1, foreach=True), 2),
    "Adam with a penalty": (lambda p: torch.optim.Adam(p, lr=0.1, weight_decay=0.1, maximize=True), 2),
    "SGD": (lambda p: torch.optim.SGD(p, lr=0.1), 1),
    "SGD with momentum": (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), 2),
    "AMSGrad": (lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True), 20),
}


def _stepped(make: Any, place: str, layers: int = 1) -> tuple[Any, int]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(*(torch.nn.Linear(3, 3) for _ in range(layers))).to(place)
    x, optimizer, kernels = torch.randn(4, 3).to(place), make(net.parameters()), 0
    for step in range(4):
        optimizer.zero_grad()
        net(x).square().sum().backward()
        with cost.counted() as counted:
            optimizer.step()
        kernels = sum(counted.kernels.values())
        assert not counted.reads or step == 0  # the first write to a slice reads it back to check that it arrived
    return net[0].weight.detach().cpu(), kernels


def optimizers() -> list[str]:
    """Return optimizers whose parameters differ after four steps, or that launch more kernels than necessary for two tensors."""
    wrong = []
    for name, (make, most) in OPTIMIZERS.items():
        here, there = _stepped(make, "cpu"), _stepped(make, "npu")
        if not torch.allclose(here[0], there[0], 1e-5, 1e-6) or there[1] > 2 * most:
            wrong.append(f"{name}: {there[1]} kernels")
        if (many := _stepped(make, "npu", 6)[1]) != there[1]:
            wrong.append(f"{name}: {there[1]} kernels for two tensors, {many} for twelve")
    return wrong


def _in_place(*args: Any) -> Any:
    found = table.HOST["adamw_step"].function(*[item.asnumpy().copy() if hasattr(item, "asnumpy") else item for item in args])
    for raw, new in zip((args[0], args[2], args[3]), found):
        raw.asnumpy()[...] = new
    return args[0], args[2], args[3]


def _copies(p: Any, place: str) -> dict[str, Any]:
    """Return copies of a parameter, which must not change when the parameter is stepped."""
    into = {name: torch.zeros(*shape, device=place) for name, shape in {"copy_": (2, 3), "flat": (6,), "set": (2, 3), "part": (2, 2, 3)}.items()}
    into["copy_"].copy_(p)
    into["flat"].copy_(p.view(-1))
    into["set"][:] = p
    into["part"][0] = p
    made = {
        "clone": p.clone(), "transposed": p.t().contiguous(), "reshaped": p.reshape(3, 2).clone(), "to": p.to(place, copy=True),
        "cat": torch.cat([p]), "expanded": p.expand(2, 2, 3).contiguous(), "indexed": p[[0, 1]], "flip": p.flip(()), "pad": F.pad(p, (0, 0)),
        "out": torch.neg(-p, out=torch.empty(2, 3, device=place)), "repeat": p.repeat(1, 1), "vector": torch.nn.utils.parameters_to_vector([p]),
    }  # fmt: skip
    return into | made


def memory() -> list[str]:
    """Return what is wrong when a kernel writes a step into the memory of a parameter."""
    table.kernel("adamw_step")["float32"] = _in_place
    parameter = torch.nn.Parameter(torch.randn(2, 3).npu())
    held = _copies(parameter.detach(), "npu:0")
    before = {name: np.array(value.cpu().numpy()) for name, value in held.items()}
    parameter.grad = torch.ones(2, 3).npu()
    start = parameter.detach().cpu().numpy().copy()
    torch.optim.AdamW([parameter], lr=0.1).step()
    assert not np.allclose(start, parameter.detach().cpu().numpy())
    return [name for name, value in held.items() if not np.array_equal(before[name], value.cpu().numpy())]


if __name__ == "__main__":
    print(attention() + slopes_of_attention() + kept_masks() + products() + norms() + tuned() + known_positions() + activations() + optimizers() + memory())
