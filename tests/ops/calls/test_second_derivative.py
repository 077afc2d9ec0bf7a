"""Second derivatives compared with torch, alone and where the input is used again (MindSpore's own drops some)."""
from __future__ import annotations

import numpy as np
import pytest

X = np.random.RandomState(1).rand(3, 4).astype(np.float32)
INDEX = [[0, 2, 1, 0], [2, 2, 0, 1]]

OPS = {
    "gather": lambda torch, x: x.gather(0, torch.tensor(INDEX)),
    "index_select": lambda torch, x: x.index_select(0, torch.tensor([0, 0])),
    "index_select columns": lambda torch, x: x.index_select(1, torch.tensor([0, 0])),
    "take": lambda torch, x: torch.take(x, torch.tensor([0, 0])),
    "cat": lambda torch, x: torch.cat([x, x]),
    "stack": lambda torch, x: torch.stack([x, x]),
    "cumsum": lambda torch, x: x.cumsum(0),
    "cumprod": lambda torch, x: x.cumprod(0),
    "logcumsumexp": lambda torch, x: x.logcumsumexp(0),
    "sort": lambda torch, x: x.sort()[0],
    "topk": lambda torch, x: x.topk(2)[0],
    "quantile": lambda torch, x: x.quantile(0.3, 0),
    "scatter": lambda torch, x: x.scatter(0, torch.tensor(INDEX), x[:2] * 2),
    "scatter_add": lambda torch, x: x.scatter_add(0, torch.tensor(INDEX), x[:2] * 2),
    "scatter prod": lambda torch, x: x.scatter_reduce(0, torch.tensor(INDEX), x[:2] * 2, "prod"),
    "scatter amax": lambda torch, x: x.scatter_reduce(0, torch.tensor(INDEX), x[:2] * 2, "amax"),
    "index_add": lambda torch, x: x.index_add(0, torch.tensor([0, 0]), x[:2] * 2),
    "index_copy": lambda torch, x: x.index_copy(0, torch.tensor([0, 1]), x[:2] * 2),
    "repeat": lambda torch, x: x.repeat(2, 1),
    "roll": lambda torch, x: x.flip(0).roll(1, 0),
    "tril": lambda torch, x: x.tril(),
    "sum": lambda torch, x: x.sum(0) * x.mean(0),
    "amax": lambda torch, x: x.amax(0) + x.max(0)[0],
    "prod": lambda torch, x: x.prod(0),
    "var": lambda torch, x: x.var(0) + x.std(0),
    "logsumexp": lambda torch, x: x.logsumexp(0),
    "norm": lambda torch, x: x.norm(dim=0) + x.norm(3, 0),
    "einsum": lambda torch, x: torch.einsum("ij,kj->ik", x, x),
    "kron": lambda torch, x: torch.kron(x, x),
    "diagonal": lambda torch, x: x.diagonal(),
    "unfold": lambda torch, x: x.unfold(1, 2, 1),
    "diag_embed": lambda torch, x: torch.diag_embed(x),
    "index": lambda torch, x: x[torch.tensor([0, 0])],
}


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("more", [False, True])
def test_second_derivative(both, name, more):
    """First and second derivatives."""

    def body(torch):
        x = torch.tensor(X, requires_grad=True)
        y = (OPS[name](torch, x) ** 3).sum()
        y = y + (x**3).sum() if more else y
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), x)
        return first.detach(), second

    both(body, rtol=1e-3, atol=1e-4, strides=False)


ONE_STEP = {
    "tanh": lambda torch, x: x.tanh(), "gelu": lambda torch, x: torch.nn.functional.gelu(x),
    "gelu_tanh": lambda torch, x: torch.nn.functional.gelu(x, approximate="tanh"), "elu": lambda torch, x: torch.nn.functional.elu(x),
    "tanhshrink": lambda torch, x: torch.nn.functional.tanhshrink(x), "softmax": lambda torch, x: x.softmax(0),
    "log_softmax": lambda torch, x: x.log_softmax(0), "hardswish": lambda torch, x: torch.nn.functional.hardswish(x),
    "cross_entropy": lambda torch, x: torch.nn.functional.cross_entropy(x.reshape(-1, 2), x.detach().reshape(-1, 2).softmax(1)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ONE_STEP)
def test_recorded_gradients_of_half_precision_are_rounded_once(both, name, kind):
    """torch's fused kernels compute these gradients in single precision, whether autograd tracks them or not."""

    def body(torch):
        x = torch.linspace(-5, 5, 60).to(getattr(torch, kind)).requires_grad_()
        y = ONE_STEP[name](torch, x)
        weights = torch.linspace(0.5, 1.5, y.numel()).to(y.dtype).reshape(y.shape)
        (plain,) = torch.autograd.grad(y, x, weights, retain_graph=True)
        (recorded,) = torch.autograd.grad(y, x, weights, create_graph=True)
        return recorded.float(), (recorded - plain).abs().max().item(), recorded.requires_grad

    both(body, rtol=2e-3 if kind == "float16" else 1e-2, atol=1e-6)
