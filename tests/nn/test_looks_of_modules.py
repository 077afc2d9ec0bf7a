"""Modules seen by Python's own tools, compared with torch: dir, hasattr, inspect, vars, copies, pickles and truth value."""
from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import mindspore
import pytest
import torch

import mstorch
from tests.against_torch import both

MADE: dict[str, Callable[[Any], Any]] = {
    "Module": lambda nn: nn.Module(), "Linear": lambda nn: nn.Linear(2, 3), "Conv2d": lambda nn: nn.Conv2d(1, 2, 3), "ReLU": lambda nn: nn.ReLU(),
    "BatchNorm1d": lambda nn: nn.BatchNorm1d(2), "LayerNorm": lambda nn: nn.LayerNorm(3), "Embedding": lambda nn: nn.Embedding(3, 2),
    "Dropout": lambda nn: nn.Dropout(), "Sequential": lambda nn: nn.Sequential(nn.Linear(1, 1), nn.ReLU()), "ModuleList": lambda nn: nn.ModuleList(),
    "ModuleDict": lambda nn: nn.ModuleDict({"a": nn.ReLU()}), "ParameterList": lambda nn: nn.ParameterList(), "GELU": lambda nn: nn.GELU(),
    "MultiheadAttention": lambda nn: nn.MultiheadAttention(4, 2), "CrossEntropyLoss": lambda nn: nn.CrossEntropyLoss(), "Flatten": lambda nn: nn.Flatten(),
    "TransformerEncoderLayer": lambda nn: nn.TransformerEncoderLayer(4, 2, 8), "MaxPool2d": lambda nn: nn.MaxPool2d(2), "Upsample": lambda nn: nn.Upsample(2),
    "LSTMCell": lambda nn: nn.LSTMCell(2, 2), "LSTM": lambda nn: nn.LSTM(2, 2), "PReLU": lambda nn: nn.PReLU(), "GroupNorm": lambda nn: nn.GroupNorm(1, 2),
    "ParameterDict": lambda nn: nn.ParameterDict(), "Identity": lambda nn: nn.Identity(), "Bilinear": lambda nn: nn.Bilinear(1, 1, 1),
}  # fmt: skip
PRIVATE_OF_LAYERS = {"LSTM": {"_flat_weights", "_flat_weight_refs"}}  # its own list of weights
OF_CELL = sorted(
    name for name in {*dir(mindspore.nn.Cell), *vars(mindspore.nn.Cell())} - set(dir(torch.nn.Module())) if not name.startswith("__")
)


def _public(names: Any) -> list[str]:
    """Return the public names, without ``npu``, which torch_npu adds to torch's."""
    return sorted(name for name in names if not name.startswith("_") and name != "npu")


@pytest.mark.parametrize("name", MADE)
def test_names(name: str) -> None:
    theirs, ours = MADE[name](torch.nn), MADE[name](mstorch.nn)
    assert not [one for one in OF_CELL if hasattr(ours, one) or getattr(ours, one, None) is not None]
    assert _public(dir(ours)) == _public(dir(theirs))
    assert {one for one in dir(torch.nn.Module()) if not one.startswith("___")} <= set(dir(ours))  # three: torch's compiler adds them
    assert not {one for one in dir(ours) if one.startswith("__")} - {one for one in dir(theirs) if one.startswith("__")}
    assert _public(key for key, _ in inspect.getmembers(ours)) == _public(key for key, _ in inspect.getmembers(theirs))
    assert list(vars(ours)) == [key for key in vars(theirs) if key not in PRIVATE_OF_LAYERS.get(name, ())]
    assert bool(ours) is bool(theirs)


@pytest.mark.parametrize("name", MADE)
def test_signatures(name: str) -> None:
    theirs, ours = MADE[name](torch.nn), MADE[name](mstorch.nn)

    def told(function: Any) -> list[Any]:
        parameters = inspect.signature(function).parameters.values()
        return [(one.name, one.kind, getattr(one.default, "__name__", str(one.default))) for one in parameters]

    assert told(type(ours)) == told(type(theirs))
    assert told(type(ours).__init__) == told(type(theirs).__init__)
    assert told(ours) == told(theirs)
    assert inspect.getfullargspec(type(ours)).args == inspect.getfullargspec(type(theirs)).args


@pytest.mark.parametrize("name", MADE)
def test_copies(name: str) -> None:
    ours = MADE[name](mstorch.nn)
    for one in (copy.copy(ours), copy.deepcopy(ours), *(pickle.loads(pickle.dumps(ours, protocol)) for protocol in range(6))):
        assert list(vars(one)) == list(vars(ours)) and type(one) is type(ours) and str(one) == str(ours)


def test_classes_of_users() -> None:
    def body(torch: Any) -> Any:
        class Bare(torch.nn.Module):
            pass

        class Own(torch.nn.Module):
            def __init__(self, a, b: int = 2, *rest, c: str = "d"):
                super().__init__()

        class Made(torch.nn.Module):
            def __new__(cls, size):
                return super().__new__(cls)

            def __init__(self, size):
                super().__init__()

        class Inherited(Own):
            pass

        class Sized(torch.nn.Module):
            def __len__(self):
                return 0

        found = [str(inspect.signature(kind)) for kind in (Bare, Own, Made, Inherited, torch.nn.Module)]
        own = Own(1)
        probed = [hasattr(own, name) for name in ("phase", "shard", "cells", "offload", "trainable_params", "construct", "param_prefix")]
        return found, inspect.getfullargspec(Own).args, probed, bool(Sized()), bool(own), inspect.getmembers(own, inspect.isclass)[0][0]

    both(body)


def test_what_mindspore_says_is_there() -> None:
    net = mstorch.nn.Linear(2, 1)
    assert [one.name for one in net.trainable_params()] == ["weight", "bias"] and net.set_train(False) is net
    assert net.phase == "" or isinstance(net.phase, str)
    optimizer = mindspore.nn.SGD(net.trainable_params(), 0.1)
    assert len(optimizer.parameters) == 2


def test_words_of_torch_for_its_own_use() -> None:
    def body(torch: Any) -> Any:
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).eval()
        replica = net._replicate_for_data_parallel()
        x = torch.ones(1, 2)
        net.register_full_backward_hook(lambda module, given, got: None)
        net.register_full_backward_pre_hook(lambda module, got: None)
        net[0].register_backward_hook(lambda module, given, got: None)
        return (
            replica._is_replica, list(replica._modules), list(replica._parameters), net[1]._replicate_for_data_parallel()._parameters,
            net._slow_forward(x).shape, net[1]._wrapped_call_impl(x).shape, [len(one) for one in net._get_backward_hooks()],
            [len(one) for one in net[0]._get_backward_hooks()], len(net._get_backward_pre_hooks()),
        )  # fmt: skip

    both(body)
