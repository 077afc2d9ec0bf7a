"""Linear layers and products of sparse tensors compared with torch's, and methods that are called on the class."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.against_torch import both

LAYOUTS: dict[str, Callable[[Any], Any]] = {"coo": lambda t: t.to_sparse(), "csr": lambda t: t.to_sparse_csr(), "csc": lambda t: t.to_sparse_csc()}
CALLS: dict[str, Callable[..., Any]] = {
    "input": lambda torch, s, d, w, b: torch.nn.functional.linear(s(d), w, b),
    "without bias": lambda torch, s, d, w, b: torch.nn.functional.linear(s(d), w),
    "weight": lambda torch, s, d, w, b: torch.nn.functional.linear(d, s(w)),
    "vector": lambda torch, s, d, w, b: torch.nn.functional.linear(s(d), w[0]),
    "relu": lambda torch, s, d, w, b: torch.nn.functional.relu(s(d - 0.3)).to_dense(),
    "relu in place": lambda torch, s, d, w, b: torch.nn.functional.relu(s(d - 0.3), inplace=True).to_dense(),
    "double": lambda torch, s, d, w, b: torch.Tensor.double(s(d)).to_dense(),
    "to": lambda torch, s, d, w, b: torch.Tensor.to(s(d), torch.float64).to_dense(),
    "detach": lambda torch, s, d, w, b: torch.Tensor.detach(s(d)).to_dense(),
    "vectors in mm": lambda torch, s, d, w, b: torch.mm(s(d), w[0]),
    "vectors in sparse.mm": lambda torch, s, d, w, b: torch.sparse.mm(s(d), w[0]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("call", CALLS)
def test_calls(call: str, layout: str) -> None:
    def body(torch: Any) -> Any:
        d = torch.rand(4, 3) * (torch.rand(4, 3) > 0.4)
        return CALLS[call](torch, LAYOUTS[layout], d, torch.rand(2, 3), torch.rand(2))

    both(body)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("multiply", ["mm", "matmul"])
def test_batches_are_refused(multiply: str, layout: str) -> None:
    both(lambda torch: getattr(torch, multiply)(LAYOUTS[layout](torch.eye(3)), torch.rand(2, 3, 5)), message="")


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_gradients(layout: str) -> None:
    def body(torch: Any) -> Any:
        layer = torch.nn.Linear(3, 2)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(torch.rand(parameter.shape))
        layer(LAYOUTS[layout](torch.eye(4)[:, :3] * 2)).square().sum().backward()
        return layer.weight.grad, layer.bias.grad

    both(body)


@pytest.mark.parametrize("pair", [("coo", "coo"), ("csr", "csr"), ("csr", "csc"), ("csc", "csr"), ("csc", "csc")], ids="-".join)
def test_layouts_of_products(pair: tuple[str, str]) -> None:
    """``sparse.mm`` with a CSC matrix is left out: torch 2.13 refuses it or returns a matrix without values."""

    def body(torch: Any) -> Any:
        left, right = (LAYOUTS[name](torch.rand(3, 3) * (torch.rand(3, 3) > 0.3)) for name in pair)
        found = [torch.mm(left, right), left @ right] + ([] if pair[1] == "csc" else [torch.sparse.mm(left, right)])
        return [str(one.layout) for one in found], [one.to_dense() for one in found]

    both(body)


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_reductions_of_a_class_below_autograd(reduce: str) -> None:
    def body(torch: Any) -> Any:
        seen = []

        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, value: Any) -> Any:
                made = torch.Tensor._make_wrapper_subclass(cls, value.shape, dtype=value.dtype)
                made.value = value
                return made

            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append(str(func))
                return func(*[one.value.to_sparse_csr() if isinstance(one, cls) else one for one in args])

        return torch.sparse.mm(Wrapper(torch.tensor([[1.0, 0.0], [2.0, 3.0]])), torch.rand(2, 3), reduce=reduce), seen

    both(body)
