"""Changes between two calls of a compiled function: each leads to a new graph or to a run without one."""
from __future__ import annotations

import dataclasses
import gc
import logging
import math
import os
import random
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mstorch as torch
from tests.compile import changes, changes_of_modules, changes_of_names, changes_of_process, changes_of_types

pytestmark = [pytest.mark.sweep, pytest.mark.filterwarnings("ignore:torch.compile")]

_ROOMS = (changes_of_modules, changes_of_names, changes_of_process, changes_of_types)
assert len(changes.CASES) >= 230 and all(room.case is changes.case for room in _ROOMS)


@pytest.fixture(autouse=True, scope="module")
def _less_to_look_through() -> Any:
    """Freeze existing objects: a capture looks for tensors among all objects, and these are irrelevant."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _restored() -> Any:
    yield
    changes.restore()


def _run(function: Callable[[Any], Any], x: Any) -> Any:
    """Return the result; each run draws the same random numbers."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    result = function(x)
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])
    return result


def _equal(one: Any, other: Any) -> bool:
    """Return whether two results have the same type, dtype, signs (also of zeros) and values, up to the error of MindSpore's tanh."""
    if one.dtype != other.dtype or one.requires_grad != other.requires_grad or type(one) is not type(other):
        return False
    signs = torch.equal(one.signbit(), other.signbit())
    return signs and torch.allclose(one, other, rtol=1e-3, atol=1e-3, equal_nan=True)


@pytest.mark.parametrize("name", list(changes.CASES))
def test_a_change_between_calls_is_seen(name: str) -> None:
    torch.manual_seed(0)
    function, change = changes.CASES[name]()
    compiled = torch.compile(function, backend="mindspore")
    x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 1.0, -3.0]])
    for _ in range(2):
        before = _run(function, x)
        assert _equal(before, _run(compiled, x))
    change()
    after = _run(function, x)
    found = [_run(compiled, x) for _ in range(2)]
    changes.restore()  # pytest needs Python's own functions
    assert not _equal(before, after), "the change does not matter"
    for got in found:
        assert _equal(after, got), f"stale: {got} where eager gives {after}"


class _Rate(float):
    factor = 2.0


@dataclasses.dataclass
class _Settings:
    factor: Any = 2.0


class _Holder:
    def __init__(self, factor: float) -> None:
        self.factor = factor


def _told(value: Any) -> float:
    return float(sum(map(ord, type(value).__name__)))


def _with(value: Any, **members: Any) -> Any:
    vars(value).update(members)
    return value


def _with_gradient() -> Any:
    made = torch.ones(3)
    made.grad = torch.ones(3)
    return made


_RATE, _HOLDER, _ROW = _with(_Rate(2.0), factor=2.0), _Holder(2.0), np.ones(3)

# A function of a tensor and another argument, and two values of this argument; a function as the second value changes the first.
ARGUMENTS: dict[str, tuple[Any, Any, Any]] = {
    "type": (lambda x, n: x * _told(n), 2, 2.0),
    "truth": (lambda x, n: x * _told(n), True, 1),
    "tuple": (lambda x, n: x * _told(n[0]), (2,), (2.0,)),
    "list": (lambda x, n: x * _told(n[0]), [2], [True]),
    "list for a tuple": (lambda x, n: x * _told(n), [2], (2,)),
    "nested": (lambda x, n: x * _told(n[0]["a"][0]), [{"a": (True,)}], [{"a": (1,)}]),
    "key": (lambda x, n: x * _told(next(iter(n))), {1: 2}, {True: 2}),
    "order of keys": (lambda x, n: x * next(iter(n.values())), {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "zero": (lambda x, n: x.abs().copysign(torch.tensor(n)), 0.0, -0.0),
    "zero in a tuple": (lambda x, n: x.abs().copysign(torch.tensor(n[0])), (0.0,), (-0.0,)),
    "zero of NumPy's": (lambda x, n: x.abs().copysign(torch.tensor(float(n))), np.float32(0), np.float32(-0.0)),
    "range": (lambda x, n: x * n.step, range(0, 1, 2), range(0, 1, 3)),
    "slice": (lambda x, n: x * _told(n.start), slice(0, 1), slice(False, 1)),
    "subclass": (lambda x, n: x * _told(n), 2.0, _Rate(2.0)),
    "attribute of a subclass": (lambda x, n: x * n.factor, _RATE, lambda: _with(_RATE, factor=3.0)),
    "object": (lambda x, n: x * n.factor, _HOLDER, lambda: _with(_HOLDER, factor=3.0)),
    "another object": (lambda x, n: x * n.factor, _Holder(2.0), _Holder(3.0)),
    "field": (lambda x, n: x * _told(n.factor), _Settings(2), _Settings(2.0)),
    "attribute beside the fields": (lambda x, n: x * getattr(n, "more", 2.0), _Settings(), _with(_Settings(), more=3.0)),
    "array": (lambda x, n: x * float(n[0]), _ROW, lambda: np.multiply(_ROW, 3, out=_ROW)),
    "offset": (lambda x, n: x * (1 + n.storage_offset()), torch.ones(4)[:3], torch.ones(4)[1:]),
    "version": (lambda x, n: x * (1 + n._version), torch.ones(3), torch.ones(3).mul_(1)),
    "history": (lambda x, n: x * (2.0 if n.grad_fn is None else 3.0), torch.ones(3), torch.ones(3, requires_grad=True) * 1),
    "gradient": (lambda x, n: x * (2.0 if n.grad is None else 3.0), torch.ones(3), _with_gradient()),
    "attribute": (lambda x, n: x * getattr(n, "factor", 2.0), torch.ones(3), _with(torch.ones(3), factor=3.0)),
    "one twice": (lambda x, n: x * (2.0 if n[0] is n[1] else 3.0), [torch.ones(3)] * 2, [torch.ones(3), torch.ones(3)]),
    "class": (lambda x, n: x * _told(n), torch.ones(3), torch.nn.Parameter(torch.ones(3), requires_grad=False)),
    "strides": (lambda x, n: x * n.stride(0), torch.ones(3, 3), torch.ones(3, 3).T),
    "conjugate": (lambda x, n: x * (3.0 if n.is_conj() else 2.0), torch.ones(3, dtype=torch.complex64), torch.ones(3, dtype=torch.complex64).conj()),
    "in inference": (lambda x, n: x * (3.0 if n.is_inference() else 2.0), torch.ones(3), torch.inference_mode()(torch.ones)(3)),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_another_argument_is_seen(name: str) -> None:
    function, first, second = ARGUMENTS[name]
    compiled = torch.compile(function, backend="mindspore")
    x = torch.tensor([0.5, -1.0, 2.0])
    before = function(x, first)
    assert _equal(before, compiled(x, first)) and _equal(before, compiled(x, first))
    second = second() if isinstance(second, types.FunctionType) else second
    after = function(x, second)
    assert not _equal(before, after), "the change does not matter"
    assert _equal(after, compiled(x, second)) and _equal(after, compiled(x, second))


def test_lists_among_arguments_are_changed_as_without_a_graph() -> None:
    def function(x: Any, found: list[Any]) -> Any:
        found.append(len(found))
        return x * len(found)

    compiled = torch.compile(function, backend="mindspore")
    found: list[Any] = []
    assert [compiled(torch.ones(1), found).item() for _ in range(3)] == [1.0, 2.0, 3.0] and found == [0, 1, 2]


def test_what_is_saved_is_packed_by_hooks() -> None:
    packed: list[Any] = []
    held = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: (held * x).exp(), backend="mindspore")
    compiled(torch.ones(3))
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: (packed.append(1), tensor)[1], lambda tensor: tensor):
        compiled(torch.ones(3))
    assert packed


def test_functions_that_never_run_are_no_concern() -> None:
    """A method that opens files, reads the time and uses all names of a process, but is not called, breaks no graph."""

    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

        def fit(self) -> Any:
            with open(os.devnull) as file:
                return file.read(), time.time(), random.random(), threading.local(), sys.modules, eval("1"), logging.getLogger()

    compiled = torch.compile(Net(), backend="mindspore", fullgraph=True)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))


def test_changes_of_other_objects_cause_no_new_graph() -> None:
    """New layers, hooks and gradients of other modules, and time that passes do not cause a new graph."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU())
            self.handle = self.inner.register_forward_hook(lambda module, args, result: None)

        def forward(self, x: Any) -> Any:
            return self.inner(x) * math.sqrt(2)

    compiled = torch.compile(Net().eval(), backend="mindspore")
    x = torch.ones(2, 3)
    for _ in range(4):
        with torch.no_grad():
            compiled(x)
        other = Net()
        other(x).sum().backward()
        torch.optim.Adam(other.parameters()).step()
    assert [len(entries) for entries in compiled.dynamo_ctx.entries.values()] == [1]
