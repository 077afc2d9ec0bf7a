"""Work on arrays that are long enough for blocks and threads."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mstorch
from mstorch._src.backend import blocks
from mstorch._src.backend.blocks import BLOCK, LONG, threads
from mstorch._src.backend.host import _ufunc

pytestmark = pytest.mark.on_the_cpu
Both = Callable[..., Any]


@pytest.mark.parametrize("size", [BLOCK - 1, LONG, LONG + BLOCK + 3])
@pytest.mark.parametrize("name", ["gelu", "relu", "leaky_relu"])
def test_activations(both: Both, size: int, name: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.linspace(-6, 6, size, requires_grad=True)
        y = getattr(torch.nn.functional, name)(x)
        (y * torch.linspace(-1, 1, size)).sum().backward()
        return y, x.grad

    both(body, rtol=1e-5, atol=2e-6)


def test_masked_gradients_are_zero_not_nan(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([-1.0, 0.0, 2.0, float("nan")], requires_grad=True)
        x.relu().backward(torch.tensor([float("inf"), float("nan"), -0.0, 3.0]))
        return x.grad, torch.where(x > 0, torch.full((4,), float("inf")), 0.0)

    both(body)


@pytest.mark.parametrize("optimizer", ["SGD", "SGD momentum", "Adam", "AdamW"])
def test_optimisers(both: Both, optimizer: str) -> None:
    def body(torch: Any) -> Any:
        weight = torch.nn.Parameter(torch.linspace(-1, 1, 3 * BLOCK + 5).reshape(1, -1))
        options = {"momentum": 0.9} if "momentum" in optimizer else {}
        steps = getattr(torch.optim, optimizer.split()[0])([weight], lr=0.1, **options)
        for _ in range(3):
            steps.zero_grad()
            (weight**3).sum().backward()
            steps.step()
        return weight

    both(body, rtol=2e-5, atol=2e-6)


def test_products_of_many_matrices_in_any_order(both: Both) -> None:
    def body(torch: Any) -> Any:
        a, b = torch.linspace(-1, 1, 5 * 40 * 3 * 20).reshape(5, 40, 3, 20), torch.linspace(1, -1, 5 * 30 * 3 * 20).reshape(5, 30, 3, 20)
        rows, columns = a.transpose(1, 2), b.permute(0, 2, 3, 1)
        return rows @ columns, rows.contiguous() @ columns.contiguous(), (rows @ columns).transpose(-1, -2) @ rows

    both(body, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_works_without_the_threads() -> None:
    x = mstorch.linspace(-3, 3, 32 * LONG)
    want = mstorch.nn.functional.gelu(x).numpy()
    assert threads.count == 1 or threads.team is not None
    child = os.fork()
    if child == 0:
        os._exit(int(not np.array_equal(mstorch.nn.functional.gelu(x).numpy(), want)))
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("form", ["rows", "number", "row", "column", "transposed", "truth"])
def test_arithmetic_on_threads(both: Both, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ufunc, "WIDE", 1 << 12)

    def body(torch: Any) -> Any:
        x = torch.linspace(-3, 3, (1 << 13) + 6).reshape(2, -1)
        other = {
            "rows": x.flip(0).contiguous(), "number": torch.tensor(2.0), "row": x[:1].clone(), "column": x[:, :1].clone(),
            "transposed": x.flip(1).t().contiguous().t(), "truth": x.flip(0) > 0,
        }[form]  # fmt: skip
        return x * other, x > other, x.t() + other.t() if other.ndim else -x, x.exp()

    both(body, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("waking", [0, 1 << 60])
def test_normalisation_of_long_arrays(both: Both, waking: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_WAKING", waking)

    def body(torch: Any) -> Any:
        functional = torch.nn.functional
        x = (torch.arange(3 * LONG) * 7919 % 1009 / 500.0 - 1).reshape(3, 8, -1, 16).requires_grad_()
        weight, bias = torch.linspace(0.5, 2, 16), torch.linspace(-1, 1, 16)
        lines = functional.layer_norm(x, (16,), weight, bias)
        batch = functional.batch_norm(x, torch.zeros(8), torch.ones(8), weight[:8], bias[:8], training=True)
        soft = functional.log_softmax(lines, -1) * functional.softmax(batch, -1)
        soft.pow(2).sum().backward()
        return lines, batch, soft, x.grad

    both(body, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stride", [1, 2])
def test_convolution_of_many_images(both: Both, stride: int) -> None:
    def body(torch: Any) -> Any:
        x = torch.linspace(-3, 3, 6 * 8 * 40 * 40).sin().reshape(6, 8, 40, 40).requires_grad_()
        w = torch.linspace(-1, 1, 4 * 8 * 9).cos().reshape(4, 8, 3, 3).requires_grad_()
        y = torch.nn.functional.conv2d(x, w, stride=stride, padding=1)
        y.pow(2).mean().backward()
        return y, x.grad, w.grad

    both(body, rtol=1e-4, atol=1e-5)


def test_sums_of_many_numbers_keep_their_digits():
    """Sums along outer dimensions, and of long vectors, are as accurate as torch's blockwise sums."""
    x = np.random.default_rng(0).random((1 << 20, 3), np.float32)
    wide = x.astype(np.float64)
    t = mstorch.tensor(x)
    want = {
        "sum": wide.sum(0), "mean": wide.mean(0), "var": wide.var(0), "std": wide.std(0), "logsumexp": np.log(np.exp(wide).sum(0)),
        "norm": np.sqrt((wide * wide).sum(0)), "both": wide.sum(0), "bias": np.sin(wide).sum(0), "dot": wide[:, 0] @ wide[:, 1],
    }  # fmt: skip
    bias = mstorch.zeros(3, requires_grad=True)
    ((t + bias) * mstorch.sin(t)).sum().backward()
    got = {
        "sum": t.sum(0), "mean": t.mean(0), "var": t.var(0, correction=0), "std": t.std(0, correction=0),
        "logsumexp": mstorch.logsumexp(t, 0), "norm": t.norm(dim=0), "both": t.reshape(1024, 1024, 3).sum((0, 1)), "bias": bias.grad,
        "dot": mstorch.dot(t[:, 0].contiguous(), t[:, 1].contiguous()),
    }  # fmt: skip
    for name, value in want.items():
        np.testing.assert_allclose(got[name].numpy(), value, rtol=1e-6, err_msg=name)


def test_long_rows_are_normalised_exactly():
    x = np.random.default_rng(0).random((2, 1 << 21), np.float32)
    wide = x.astype(np.float64)
    want = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    t = mstorch.tensor(x)
    np.testing.assert_allclose(mstorch.nn.functional.layer_norm(t, t.shape[1:]).numpy(), want, atol=2e-6)
    np.testing.assert_allclose(mstorch.nn.functional.group_norm(t.reshape(2, 4, -1), 1).reshape(2, -1).numpy(), want, atol=2e-6)
