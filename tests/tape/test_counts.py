"""Version counters, expanded gradients, errors for overlap, and which results are views, as in torch."""
from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]


def _saved(torch: Any, tensor: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(tensor, buffer)
    buffer.seek(0)
    return torch.load(buffer)


COPIES: dict[str, Callable[[Any, Any], Any]] = {
    "copy": lambda torch, t: copy.copy(t),
    "deepcopy": lambda torch, t: copy.deepcopy(t),
    "pickle": lambda torch, t: pickle.loads(pickle.dumps(t)),
    "save": _saved,
    "randn_like": lambda torch, t: torch.randn_like(t),
    "rand_like": lambda torch, t: torch.rand_like(t),
    "isclose": lambda torch, t: torch.isclose(t, t),
    "apply_": lambda torch, t: t.detach().clone().apply_(lambda x: x + 1),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("kind", ["plain", "leaf", "part", "recorded", "parameter", "own parameter", "fixed parameter"])
def test_counts_of_copies(both: Both, name: str, kind: str) -> None:
    def body(torch: Any) -> Any:
        tensor = torch.ones(3, requires_grad=kind != "plain")
        tensor = tensor[1:] if kind == "part" else tensor * 2 if kind == "recorded" else tensor
        if kind.endswith("parameter"):
            made_of = type("Own", (torch.nn.Parameter,), {}) if kind == "own parameter" else torch.nn.Parameter
            tensor = made_of(tensor.detach(), kind != "fixed parameter")
        made = COPIES[name](torch, tensor)
        return made, made._version, made.requires_grad, made.is_leaf, type(made).__name__

    both(body)


def test_shallow_copies_of_what_has_no_size_yet(both: Both) -> None:
    def body(torch: Any) -> Any:
        made = [copy.copy(getattr(torch.nn, name)()) for name in ("UninitializedParameter", "UninitializedBuffer")]
        return [(type(one).__name__, one.requires_grad, torch.nn.parameter.is_lazy(one)) for one in made]

    both(body)


def test_tensors_that_share_memory_share_counts(both: Both) -> None:
    def body(torch: Any) -> Any:
        data = torch.zeros(3)
        parameter, detached, part = torch.nn.Parameter(data), data.detach(), data[:2]
        data.add_(1)
        found = [parameter._version, detached._version, part._version, data.data._version]
        part.data = torch.ones(5)
        data.add_(1)
        found += [part._version, data._version]
        data.set_(torch.ones(2))
        return [*found, data._version, detached._version]

    both(body)


def test_gradients_of_sums_stay_expanded(both: Both) -> None:
    def body(torch: Any) -> Any:
        leaf = torch.ones(2, 3, requires_grad=True)
        (bare,) = torch.autograd.grad(leaf.sum(), leaf)
        (recorded,) = torch.autograd.grad(leaf.sum(), leaf, create_graph=True)
        leaf.sum().backward()
        return bare, recorded, leaf.grad, bare.masked_fill_(bare > 0, 2.0)

    both(body)


WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda torch: (lambda x: x[:2].add_(x[1:3]))(torch.arange(4.0)),
    "copy_": lambda torch: (lambda x: x[:2].copy_(x[1:3]))(torch.arange(4.0)),
    "other order": lambda torch: (lambda x: x.mul_(x.t()))(torch.ones(2, 2)),
    "assigned": lambda torch: torch.arange(4.0)[:2].__setitem__(slice(None), 1.0),
    "itself": lambda torch: (lambda x: x.mul_(x))(torch.arange(4.0)),
    "expanded empty": lambda torch: torch.zeros(0).expand(2, 0).add_(1),
    "out": lambda torch: (lambda x: torch.add(x[1:], 1, out=x[:-1]))(torch.arange(4.0)),
    "resized out": lambda torch: (lambda x: (torch.add(torch.ones(2), 1, out=x), x.untyped_storage().nbytes()))(torch.zeros(4)),
    "grown out": lambda torch: (lambda x, v: (torch.add(torch.ones(5), 1, out=x), v))(*(lambda x: (x, x[:]))(torch.zeros(2))),
    "set_ beyond the storage": lambda torch: torch.zeros(1).set_(torch.zeros(1).untyped_storage(), 0, (4,), (1,)).shape,
    "bool sum": lambda torch: torch.sum(torch.tensor([[0.5, 0.2], [0, 0]]), 1, out=torch.zeros(2, dtype=torch.bool)),
    "bool cumsum_": lambda torch: torch.tensor([True, False]).cumsum_(0),
    "bool pow": lambda torch: torch.tensor([True]) ** torch.tensor([True]),
    "bool dot": lambda torch: torch.tensor([True]) @ torch.tensor([True]),
    "comparison of a leaf": lambda torch: (lambda x: torch.gt(x, 0, out=x))(torch.ones(2, requires_grad=True)),
    "requires_grad of a result": lambda torch: setattr(torch.ones(2, requires_grad=True) * 2, "requires_grad", True),
    "integers as data": lambda torch: setattr(torch.ones(2, requires_grad=True), "data", torch.ones(2, dtype=torch.int64)),
    "float of many": lambda torch: float(torch.ones(2)),
    "below a byte": lambda torch: torch.ones(2, dtype=torch.uint8).clamp(-1, 1),
    "logit in bfloat16": lambda torch: torch.tensor([0.0, 0.5, 1.0], dtype=torch.bfloat16).logit(1e-3),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRITES)
def test_writes(both: Both, name: str) -> None:
    both(WRITES[name])


@pytest.mark.parametrize("how", ["split", "no_grad"])
def test_views_without_history_of_a_base_written_since(both: Both, how: str) -> None:
    def body(torch: Any) -> Any:
        leaf = torch.zeros(4, requires_grad=True)
        if how == "split":
            part = leaf.split(2)[0]
            part.detach().zero_()
        else:
            with torch.no_grad():
                part = leaf[1:]
                leaf.zero_()
        return (part * 2).requires_grad

    both(body)


def test_unique_has_no_derivative(both: Both) -> None:
    both(lambda torch: torch.ones(3, requires_grad=True).unique().requires_grad)
    both(lambda torch: torch.ones(3, requires_grad=True).unique().sum().backward())
    both(lambda torch: torch.ones(3).set_(torch.ones(2, requires_grad=True)).sum().backward())


RESULTS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda torch: torch.nn.functional.linear(torch.ones(2, 2, 3), torch.ones(4, 3)),
    "matmul": lambda torch: torch.ones(2, 2, 3) @ torch.ones(3, 4),
    "dot": lambda torch: torch.dot(torch.ones(2), torch.ones(2)),
    "lstm": lambda torch: torch.nn.LSTM(3, 2)(torch.ones(4, 1, 3))[0],
    "gru": lambda torch: torch.nn.GRU(3, 2, batch_first=True)(torch.ones(1, 4, 3))[0],
    "conv1d": lambda torch: torch.nn.functional.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2)),
    "group_norm": lambda torch: torch.nn.functional.group_norm(torch.ones(1, 4, 3), 2),
    "min": lambda torch: torch.ones(3, 1).min(-1)[1],
    "roll": lambda torch: torch.ones(3).roll(1),
    "reshape by copy": lambda torch: torch.ones(3, 1).expand(3, 2).reshape(-1),
    "reshape": lambda torch: torch.ones(3, 1).reshape(-1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_which_results_are_views(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        made = RESULTS[name](torch)
        return made._is_view(), made.detach_().requires_grad if not made._is_view() else None

    both(body)


@pytest.mark.parametrize("shape", [(2, 1), (1, 3, 2)])
def test_strides_of_results_with_numbers(both: Both, shape: tuple[int, ...]) -> None:
    def body(torch: Any) -> Any:
        tensor = torch.zeros(shape).transpose(0, 1) if len(shape) == 2 else torch.zeros(shape).diagonal()
        return tensor * 2, tensor.exp(), tensor.clamp(0, 1), tensor + tensor, torch.where(tensor > 0, tensor, 1.0), 2 / tensor

    both(body)


def test_a_leaf_that_was_detached_gets_no_gradient(both: Both) -> None:
    def body(torch: Any) -> Any:
        leaf = torch.zeros(3, requires_grad=True)
        total = (leaf * 2).sum()
        leaf.detach_()
        total.backward()
        return leaf.grad, torch.tensor(1.0).mT

    both(body)


def test_the_jacobian_of_results_in_another_order(both: Both) -> None:
    both(lambda torch: torch.autograd.functional.jacobian(lambda x: x.T * 2, torch.ones(2, 3)))
