"""Python's protocols on modules and parameters, against torch: copies, and pickles of every protocol version."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import mstorch
from tests.against_torch import both


class Named(mstorch.nn.Module):
    """A module whose class defines how it is reconstructed."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layer = mstorch.nn.Linear(size, 1)

    def __reduce__(self) -> Any:
        return Named, (self.layer.in_features,)


class WithArguments(mstorch.nn.Module):
    """A module that is reconstructed with constructor arguments."""

    def __new__(cls, size: int = 0) -> Any:
        made = super().__new__(cls)
        made.__dict__["size"] = size
        return made

    def __init__(self, size: int = 0) -> None:
        super().__init__()

    def __getnewargs__(self) -> tuple[int]:
        return (self.size,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol(protocol: int) -> None:
    def body(torch: Any) -> Any:
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.ReLU())
        again = pickle.loads(pickle.dumps(net, protocol))
        return list(again.state_dict().values()), again(torch.ones(4, 3)), str(again)

    both(body)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_classes_that_say_how(protocol: int) -> None:
    assert pickle.loads(pickle.dumps(Named(3), protocol)).layer.in_features == 3
    assert pickle.loads(pickle.dumps(WithArguments(3), protocol)).size == 3
    assert copy.copy(WithArguments(4)).size == 4


def test_reduce_makes_the_module_again() -> None:
    made = mstorch.nn.Linear(2, 1)
    for parts in (made.__reduce__(), *(made.__reduce_ex__(protocol) for protocol in range(6))):
        again = parts[0](*parts[1])
        again.__setstate__(parts[2])
        assert again(mstorch.ones(2)).item() == made(mstorch.ones(2)).item()


def test_deep_copies_of_parameters() -> None:
    def body(torch: Any) -> Any:
        leaf = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
        leaf.note = "mine"
        (leaf * 2).sum().backward()
        plain = torch.ones(2, requires_grad=True)
        plain.note = "mine"
        (plain * 2).sum().backward()
        layer = torch.nn.Linear(2, 1)
        layer(torch.ones(2)).sum().backward()
        layer.weight.note = "mine"
        tied = torch.nn.ModuleList([layer, layer])
        copied, again = copy.deepcopy(leaf), copy.deepcopy(layer)
        both_tied = copy.deepcopy(tied)
        still = copy.deepcopy(torch.nn.Parameter(torch.ones(2), requires_grad=False))
        return (
            copied, copied.grad, hasattr(copied, "note"), type(copied).__name__, copied.requires_grad, copied._version,
            copy.deepcopy(plain).grad, copy.deepcopy(plain).note, again.weight.grad, hasattr(again.weight, "note"),
            both_tied[0].weight is both_tied[1].weight, still.requires_grad, leaf.grad, leaf.note,
        )  # fmt: skip

    both(body)


def test_deep_copies_of_parameters_of_subclasses() -> None:
    def body(torch: Any) -> Any:
        class Scaled(torch.nn.Parameter):
            pass

        made = Scaled(torch.ones(2))
        made.note = "mine"
        copied = copy.deepcopy(made)
        return type(copied).__name__, hasattr(copied, "note"), copied

    both(body)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("layer", ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d"])
def test_running_statistics_are_not_rounded_to_half(layer: str, half: str) -> None:
    rank = int(layer[-2])
    drawn = (np.random.RandomState(0).randn(30, 4, *[5] * (rank - 1)) * 3 + 7).astype(np.float32)

    def body(torch: Any) -> Any:
        made = getattr(torch.nn, layer)(4)
        made(torch.tensor(drawn).to(getattr(torch, half)))
        return made.running_mean, made.running_var

    both(body, rtol=1e-5, atol=1e-5)


def test_words_that_the_class_tensor_does_not_take() -> None:
    for named in ({"dtype": "int32"}, {"dtype": "float32"}, {"requires_grad": True}):

        def body(torch: Any, named: dict[str, Any] = named) -> Any:
            return torch.Tensor([1], **{key: getattr(torch, value) if key == "dtype" else value for key, value in named.items()})

        both(body, message="new() received an invalid combination of arguments - got (list, ")


def test_jacobians_of_integers() -> None:
    both(lambda torch: torch.func.jacrev(lambda x: (x * 2).long())(torch.ones(3)))
    both(lambda torch: torch.func.jacrev(lambda x: (x * 2, x > 0))(torch.ones(3)))
