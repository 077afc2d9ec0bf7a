"""Operators that libraries write in Python (torch._ops.HigherOrderOperator), beside torch's."""
from __future__ import annotations

import itertools
import re
from importlib import import_module

import pytest

_number = itertools.count()


def _operator(torch):
    base = import_module(f"{torch.__name__}._ops").HigherOrderOperator

    class Operator(base):
        def __init__(self):
            super().__init__(f"of_a_test_{next(_number)}")

        def __call__(self, *args, **kwargs):
            return super().__call__(*args, **kwargs)

    return Operator()


def _sum(torch):
    """A sum with a rule for vmap that moves the batch in front, and one for autograd."""
    functorch = import_module(f"{torch.__name__}._C._functorch")
    operator = _operator(torch)

    @operator.py_impl(functorch.TransformType.Vmap)
    def batched(interpreter, x, dim):
        if not functorch.is_batchedtensor(x):
            with interpreter.lower():
                return operator(x, dim)
        place, value = functorch.maybe_get_bdim(x), functorch.get_unwrapped(x)
        with interpreter.lower():
            result = operator(value.movedim(place, 0), dim + 1)
        return functorch._add_batch_dim(result, 0, interpreter.level())

    operator.py_impl(torch._C.DispatchKey.AutogradCPU)(lambda x, dim: torch.sum(x, dim))
    return operator


@pytest.mark.parametrize("run", [
    lambda torch, op: op(torch.arange(6.0).reshape(2, 3), 1),
    lambda torch, op: torch.vmap(op, (0, None))(torch.arange(6.0).reshape(2, 3), 0),
    lambda torch, op: torch.vmap(torch.vmap(op, (0, None)), (0, None))(torch.arange(24.0).reshape(2, 3, 4), 0),
    lambda torch, op: torch.vmap(op, (1, None))(torch.arange(6.0).reshape(2, 3), 0),
])  # fmt: skip
def test_rule_of_vmap(both, run):
    both(lambda torch: run(torch, _sum(torch)))


def test_gradient_is_that_of_the_rule_for_autograd():
    import mstorch

    operator, x = _sum(mstorch), mstorch.arange(6.0).reshape(2, 3)
    assert mstorch.func.grad(operator)(x[0], 0).tolist() == [1, 1, 1]
    assert mstorch.vmap(mstorch.func.grad(operator), (0, None))(x, 0).tolist() == [[1, 1, 1]] * 2
    second = mstorch.func.grad(lambda v: mstorch.func.grad(lambda u: operator(u.sin(), 0))(v).sum())(x[0])
    assert mstorch.allclose(second, -x[0].sin())


def test_order_of_the_rules(both):
    def body(torch):
        keys, operator = torch._C.DispatchKey, _operator(torch)
        x, told = torch.ones(2), []
        operator.py_impl(keys.CPU)(lambda a, b: (told.append("device"), a + b)[1])
        operator.py_impl(keys.CompositeExplicitAutograd)(lambda a, b: (told.append("any"), a + b)[1])

        @operator.py_impl(keys.Autograd)
        def recorded(a, b):
            told.append("autograd")
            with torch._C._AutoDispatchBelowAutograd():
                return operator(a, b)

        class Mode(import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        @operator.py_impl(Mode)
        def in_a_mode(mode, a, b):
            told.append(type(mode).__name__)
            return operator(a, b)

        found = [operator(x, x), operator(1, 2)]
        with Mode():
            found.append(operator(x, x))
        return found, told

    both(body)


@pytest.mark.parametrize("refused", [
    lambda torch: _operator(torch)(torch.ones(2)),
    lambda torch: torch.vmap(_operator(torch))(torch.ones(2)),
])  # fmt: skip
def test_refusals(refused):
    import torch

    import mstorch

    with pytest.raises(Exception) as want:
        refused(torch)
    with pytest.raises(type(want.value)) as got:
        refused(mstorch)
    texts = [re.sub(r"of_a_test_\d+", "NAME", str(error.value)) for error in (want, got)]
    assert texts[0] == texts[1]


def test_a_key_has_one_rule():
    import mstorch

    operator = _operator(mstorch)
    operator.py_impl(mstorch._C.DispatchKey.CPU)(abs)
    with pytest.raises(AssertionError, match="already registered"):
        operator.py_impl(mstorch._C.DispatchKey.CPU)(abs)
