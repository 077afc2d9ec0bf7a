"""Sparse parameters and buffers of modules."""
from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch as real_torch

import mstorch

LAYOUTS = ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")


def weight(torch: Any, layout: str) -> Any:
    dense = torch.tensor([[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 4.0], [5.0, 0.0, 0.0, 0.0]])
    return dense.to_sparse(layout=getattr(torch, layout), **({"blocksize": (2, 2)} if layout in LAYOUTS[3:] else {}))


class Holder:
    """A module with a sparse parameter and a sparse buffer, of either library."""

    def __new__(cls, torch: Any, layout: str) -> Any:
        module = torch.nn.Linear(4, 4)
        module.weight = torch.nn.Parameter(weight(torch, layout))
        module.register_buffer("mask", weight(torch, layout))
        return module


@pytest.mark.parametrize("layout", LAYOUTS)
def test_modules_hold_sparse_parameters(both: Any, layout: str) -> None:
    def body(torch: Any) -> Any:
        module = Holder(torch, layout)
        held = module.weight
        module.float().double()
        return (
            isinstance(held, torch.nn.Parameter), held.is_leaf, held.requires_grad, [name for name, _ in module.named_parameters()],
            list(module.state_dict()), held is module.weight, module.weight.dtype, module.weight.layout, module.mask.dtype, repr(held).split("\n")[0],
        )  # fmt: skip

    both(body)


@pytest.mark.parametrize("layout", LAYOUTS[:3])
def test_a_sparse_weight_multiplies(both: Any, layout: str) -> None:
    def body(torch: Any) -> Any:
        module = Holder(torch, layout)
        module.bias = None
        x = torch.arange(8.0).view(2, 4).requires_grad_()
        y = module(x)
        y.sum().backward()
        return y, x.grad

    both(body)


@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_states_and_files(both: Any, layout: str) -> None:
    def body(torch: Any) -> Any:
        first, second = Holder(torch, layout), Holder(torch, layout)
        first.weight = torch.nn.Parameter(weight(torch, layout) * 2)
        second.load_state_dict(first.state_dict())
        file = io.BytesIO()
        torch.save(first.state_dict(), file)
        file.seek(0)
        loaded = torch.load(file)
        if layout == "sparse_coo":
            second.mask.data = second.mask * 3
        return second.weight.to_dense().detach(), second.mask.to_dense(), loaded["weight"].layout, loaded["mask"].to_dense()

    both(body)


def test_parameters_become_sparse(both: Any) -> None:
    """If a function given to ``_apply`` changes the layout, the result is a new Parameter."""

    def body(torch: Any) -> Any:
        module = torch.nn.Linear(2, 2)
        before = module.weight
        module._apply(lambda tensor: tensor.to_sparse())
        return module.weight is before, module.weight.layout, isinstance(module.weight, torch.nn.Parameter), module.weight.requires_grad

    both(body)


def test_copies_stay_parameters() -> None:
    module = copy.deepcopy(Holder(mstorch, "sparse_coo"))
    assert isinstance(module.weight, mstorch.nn.Parameter) and [name for name, _ in module.named_parameters()] == ["weight", "bias"]


def test_sgd_steps(both: Any) -> None:
    def body(torch: Any) -> Any:
        parameter = torch.nn.Parameter(weight(torch, "sparse_coo"))
        (parameter * 2).to_dense().sum().backward()
        torch.optim.SGD([parameter], lr=0.5).step()
        return parameter.detach().to_dense()

    both(body)


def test_texts_of_parameters_of_subclasses(both: Any) -> None:
    class Mine(real_torch.Tensor):
        pass

    class Ours(mstorch.Tensor):
        pass

    Ours.__name__ = "Mine"

    def body(torch: Any) -> Any:
        values = torch.ones(2).as_subclass(Mine if torch is real_torch else Ours)
        parameter = torch.nn.Parameter(values)
        own = type("Own", (torch.nn.Parameter,), {})(torch.ones(2))
        return repr(parameter), str(parameter), parameter.__repr__(tensor_contents="x"), repr(own), repr(parameter.detach())

    both(body)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_are_views(both: Any, layout: str) -> None:
    def body(torch: Any) -> Any:
        x = weight(torch, layout)
        x = x.coalesce() if layout == "sparse_coo" else x
        return [item.values()._is_view() for item in (x, x.clone(), x.detach(), x.t(), x.clone().t(), x * 2)]

    both(body)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("template", [*LAYOUTS, "strided"])
def test_templates_of_resize_as_sparse(both: Any, layout: str, template: str) -> None:
    def body(torch: Any) -> Any:
        other = torch.zeros(4, 4) if template == "strided" else weight(torch, template)
        return weight(torch, layout).resize_as_sparse_(other).shape

    both(body)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_sparse_dimensions_that_are_compressed(both: Any, layout: str, dims: int) -> None:
    def body(torch: Any) -> Any:
        options = {"blocksize": (2, 2)} if layout in LAYOUTS[3:] else {}
        return torch.ones(4, 4, 4).to_sparse(dims).to_sparse(layout=getattr(torch, layout), **options).shape

    both(body)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_transposed_matrices_are_views(both: Any, layout: str) -> None:
    def body(torch: Any) -> Any:
        x = weight(torch, layout)
        views = [x.t(), x.transpose(0, 1), x.transpose(0, 0), x.mT, x.t().t(), x.detach(), x.clone()]
        return [(view._is_view(), view._base is x, view.layout, view.to_dense()) for view in views]

    both(body)
