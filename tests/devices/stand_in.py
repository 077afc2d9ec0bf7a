"""Run operations, models or programs on the stand-in device: ``python -m tests.devices.stand_in operations|models [name…]|programs``.

MSTORCH_FAKE_DEVICE=Ascend must be set: the CPU's memory then plays an Ascend device, with the rows of Ascend.
"""
from __future__ import annotations

import importlib
import io
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._src.backend import fake

F = torch.nn.functional
MODELS = pathlib.Path(__file__).parents[2] / "examples" / "models"
Shape = tuple[int, ...]


def _written(x: Any) -> Any:
    y = x * 2
    y[0] = x[1] * 3
    y[:, 1:3].mul_(2)
    return y


def _positions(x: Any, rows: list[Any]) -> Any:
    return torch.tensor(rows).to(x.device)


PAIRS = [[0, 1], [2, 3], [1, 1]]
OPERATIONS: dict[str, tuple[Callable[..., Any], tuple[Shape, ...]]] = {
    "max_pool": (lambda x: F.max_pool2d(x, 2), ((2, 3, 4, 4),)),
    "max_pool of overlapping windows": (lambda x: F.max_pool2d(x, 3, 1, 1), ((2, 3, 4, 4),)),
    "avg_pool": (lambda x: F.avg_pool2d(x, 2), ((2, 3, 4, 4),)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), ((2, 3, 4, 4),)),
    "conv_transpose": (lambda x, w: F.conv_transpose2d(x, w, stride=2), ((2, 3, 4, 4), (3, 2, 2, 2))),
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=1), ((2, 3, 8), (4, 3, 3))),
    "conv2d in groups": (lambda x, w: F.conv2d(x, w, groups=2), ((1, 4, 5, 5), (4, 2, 3, 3))),
    "conv3d": (F.conv3d, ((1, 2, 4, 4, 4), (3, 2, 2, 2, 2))),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), ((4, 3, 4, 4), (3,), (3,))),
    "group_norm": (lambda x: F.group_norm(x, 2), ((2, 4, 3),)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), ((3, 4), (4,), (4,))),
    "matmul": (lambda x, y: x @ y, ((2, 3, 4), (4, 5))),
    "einsum": (lambda x, y: torch.einsum("bij,bjk->bik", x, y), ((2, 3, 4), (2, 4, 5))),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), ((2, 2, 5, 4),) * 3),
    "cat": (lambda x, y: torch.cat([x, y], 1), ((2, 3), (2, 4))),
    "amax": (lambda x: x.amax(1), ((3, 4),)),
    "sort": (lambda x: x.sort(1)[0], ((3, 4),)),
    "topk": (lambda x: x.topk(2)[0], ((3, 4),)),
    "cumsum": (lambda x: x.cumsum(1), ((3, 4),)),
    "prod": (lambda x: x.prod(1), ((3, 4),)),
    "std": (lambda x: x.std(1), ((3, 4),)),
    "logsumexp": (lambda x: x.logsumexp(1), ((3, 4),)),
    "gather": (lambda x: x.gather(1, _positions(x, PAIRS)), ((3, 4),)),
    "scatter_add": (lambda x, s: x.scatter_add(1, _positions(x, PAIRS), s), ((3, 4), (3, 2))),
    "index": (lambda x: x[_positions(x, [0, 2])], ((3, 4),)),
    "mask": (lambda x: x[x > 0], ((3, 4),)),
    "masked_fill": (lambda x: x.masked_fill(x > 0, 3.0), ((3, 4),)),
    "where": (lambda x, y: torch.where(x > 0, x, y), ((3, 4), (3, 4))),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), ((3, 4),)),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), ((3, 4), (3, 4))),
    "activations": (
        lambda x: F.softplus(x) + F.elu(x) + F.hardswish(x) + F.mish(x) + F.leaky_relu(x) + F.selu(x) + F.silu(x) + F.gelu(x), ((3, 4),)
    ),
    "prelu": (F.prelu, ((3, 4, 2), (4,))),
    "pads": (lambda x: F.pad(F.pad(x, (1, 2), mode="reflect"), (1, 2, 0, 1), value=2.0), ((2, 3, 6),)),
    "unfold and fold": (lambda x: F.fold(F.unfold(x, 2), (4, 4), 2), ((2, 3, 4, 4),)),
    "views": (lambda x: x.flip(1).roll(1, 0).tril().repeat(2, 3).chunk(2, 1)[1] * x.unbind(1)[0].repeat(2)[:, None], ((3, 4),)),
    "expand": (lambda x: x[:, None].expand(3, 2, 4).transpose(0, 2).contiguous(), ((3, 4),)),
    "writes": (_written, ((3, 4),)),
    "losses": (
        lambda x, y: F.mse_loss(x, y) + F.smooth_l1_loss(x, y) + F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean")
        + F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), ((3, 4), (3, 4)),
    ),
    "dtypes": (lambda x: (x.half() * 2).float() + x.double().exp().float(), ((3, 4),)),
}  # fmt: skip


def operations() -> list[str]:
    """Return the operations whose values or gradients differ between the device and the CPU."""
    wrong = []
    torch.manual_seed(1)
    for name, (function, shapes) in OPERATIONS.items():
        values = [torch.randn(*shape) for shape in shapes]
        here = [value.clone().requires_grad_() for value in values]
        there = [value.npu().requires_grad_() for value in values]
        results = function(*here), function(*there)
        weights = torch.randn(results[0].shape)
        (results[0] * weights).sum().backward()
        (results[1] * weights.npu()).sum().backward()
        assert results[1].device == torch.device("npu", 0) and all(leaf.grad.device == leaf.device for leaf in there), name
        pairs = [results, *((a.grad, b.grad) for a, b in zip(here, there))]
        if not all(torch.allclose(a, b.cpu(), 1e-4, 1e-5) for a, b in pairs):
            wrong.append(name)
    return wrong


def _losses(name: str, place: str, steps: int) -> tuple[list[float], int]:
    """Return the losses of some steps, and the largest number of transfers in one of them."""
    torch.manual_seed(0)
    example = importlib.import_module(name)
    model, optimizer = example.build()
    model.to(place)
    found, most = [], 0
    for step in range(steps):
        torch.manual_seed(2 * step)
        batch = [part.to(place) for part in example.batch()]
        torch.manual_seed(2 * step + 1)  # dropout draws from the device's own stream
        fake.transfers.clear()
        loss = example.loss(model, *batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
        most = max(most, sum(fake.transfers.values()))
    return found, most


def models(*names: str) -> list[str]:
    """Return the models that train differently on the device, or read values from it more than once a step."""
    torch.install()
    sys.path.insert(0, str(MODELS))
    wrong = []
    for name in names or ("gpt", "lstm_lm", "resnet", "unet", "transformer"):
        here, _ = _losses(name, "cpu", 2)
        there, transfers = _losses(name, "npu", 2)
        if transfers > 1 or any(abs(a - b) > 1e-4 for a, b in zip(here, there)):
            wrong.append(f"{name}: {here} and {there}, {transfers} transfers")
    return wrong


def _raised(function: Callable[[], Any]) -> str:
    try:
        return str(function())
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"


def _saved() -> Any:
    file = io.BytesIO()
    torch.save({"x": torch.arange(3.0).npu(), "net": torch.nn.Linear(2, 2).npu().state_dict()}, file)
    found = []
    for place in (None, "cpu", "npu:0"):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        found.append((str(loaded["x"].device), str(loaded["net"]["weight"].device), loaded["x"].tolist()))
    return found


def _assigned() -> Any:
    x = torch.arange(6.0).reshape(2, 3).npu()
    x[0, 1] = 9.0
    x[x > 8] = 0.0
    part = x[1]
    part.add_(1)
    return x.tolist()


def programs() -> list[str]:
    """Run users' programs, each with its expected result."""
    x = torch.arange(6.0).reshape(2, 3).npu()
    two = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: x.device, "npu:0"),
        (lambda: (x.cpu().device, x.to("npu") is x, x.is_npu, x.get_device()), "(device(type='cpu'), True, True, 0)"),
        (lambda: x.cpu().numpy().sum(), "15.0"),
        (lambda: x.numpy(), "TypeError: can't convert npu:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                            "first."),
        (lambda: torch.ones(2).device, "cpu"),
        (lambda: [f(x).device.type for f in (torch.zeros_like, torch.randn_like, lambda y: y.new_ones(2))], "['npu', 'npu', 'npu']"),
        (lambda: [torch.rand(2, device=d).device.type for d in ("npu", "cpu", "meta")], "['npu', 'cpu', 'meta']"),
        (lambda: x + torch.ones(3), two + "npu:0 and cpu!"),
        (lambda: torch.ones(2, 3) + x, two + "cpu and npu:0!"),
        (lambda: torch.cat([x, torch.ones(2, 3)]), two + "npu:0 and cpu!"),
        (lambda: torch.nn.functional.embedding(torch.tensor([1]), x),
         "RuntimeError: Expected all tensors to be on the same device, but got index is on cpu, different from other tensors on npu:0 (when checking "
         "argument in method wrapper_NPU__index_select)"),
        (lambda: (x * torch.tensor(2.0)).device, "npu:0"),
        (lambda: (torch.ones(2, 3).copy_(x).device, x.clone().copy_(torch.ones(2, 3)).device), "(device(type='cpu'), device(type='npu', index=0))"),
        (_assigned, "[[0.0, 0.0, 2.0], [4.0, 5.0, 6.0]]"),
        (_saved, str([(d, d, [0.0, 1.0, 2.0]) for d in ("npu:0", "cpu", "npu:0")])),
        (lambda: x.cuda(), "AssertionError: Torch not compiled with CUDA enabled"),
        (lambda: torch.ones(1, device="npu:3"), "RuntimeError: Invalid device ID: npu:3 was asked for, and this process sees 1, from npu:0 on"),
        (lambda: (torch.npu.is_available(), torch.npu.device_count(), torch.cuda.is_available()), "(True, 1, False)"),
        (lambda: torch.accelerator.current_accelerator(), "npu"),
        (lambda: torch.func.grad(lambda a: (a**2).sum())(x).tolist(), "[[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]"),
        (lambda: torch.linalg.inv(torch.eye(2, device="npu")).tolist(), "[[1.0, 0.0], [0.0, 1.0]]"),
        (lambda: torch.linalg.inv(torch.eye(2)).tolist(), "[[1.0, 0.0], [0.0, 1.0]]"),
    ]  # fmt: skip
    wrong = []
    for number, (function, wanted) in enumerate(cases):
        found = _raised(function)
        if found != wanted:
            wrong.append(f"{number}: {found!r} instead of {wanted!r}")
    with torch.device("npu"):
        if torch.ones(2).device != x.device or torch.nn.Linear(2, 2).weight.device != x.device:
            wrong.append("the device as a context")
    return wrong


if __name__ == "__main__":
    print({"operations": operations, "models": models, "programs": programs}[sys.argv[1]](*sys.argv[2:]))
