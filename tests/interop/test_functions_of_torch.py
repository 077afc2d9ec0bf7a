"""Functions of an installed torch, called with mstorch's tensors, are computed by mstorch."""
from __future__ import annotations

import pytest
import torch as real_torch

import mstorch

CALLS = {
    "pairwise_distance": lambda f, a, b: f.nn.functional.pairwise_distance(a, b), "matmul": lambda f, a, b: f.matmul(a, b.t()),
    "softmax": lambda f, a, b: f.softmax(a, dim=1), "split": lambda f, a, b: f.split(a, 1)[0] * 2,
    "norm": lambda f, a, b: f.linalg.norm(a), "gelu": lambda f, a, b: f.nn.functional.gelu(a) + 0 * b,
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str) -> None:
    found = []
    for library in (real_torch, mstorch):
        a = library.tensor([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]], requires_grad=True)
        b = library.tensor([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
        result = CALLS[name](real_torch, a, b)
        assert type(result) is library.Tensor
        result.sum().backward()
        found.append((result.numpy(force=True), a.grad.numpy(force=True)))
    for want, got in zip(*found):
        assert want == pytest.approx(got, rel=1e-5)


def test_what_is_not_here() -> None:
    def function(x):
        return real_torch.overrides.handle_torch_function(function, (x,), x)

    with pytest.raises(TypeError, match="function is no function of mstorch and does not take its tensors"):
        function(mstorch.ones(2))
