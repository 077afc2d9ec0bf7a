"""Random programs of views, in-place writes and reads give the same values, strides and gradients as in torch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real_torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import mstorch
from tests.against_torch import same, values

pytestmark = [pytest.mark.sweep, pytest.mark.core]

_INDEX = st.integers(-3, 3)
_SLICE = st.builds(slice, st.none() | _INDEX, st.none() | _INDEX, st.none() | st.integers(1, 2))
_ITEM = st.one_of(_INDEX, _SLICE, st.none(), st.just(Ellipsis), st.lists(st.integers(0, 1), min_size=1, max_size=3))
_KEY = st.one_of(_ITEM, st.tuples(_ITEM, _ITEM))

_VIEWS = st.one_of(
    st.tuples(st.just("transpose"), st.integers(-2, 1), st.integers(-2, 1)),
    st.tuples(st.just("view"), st.sampled_from([(-1,), (2, -1), (3, -1), (-1, 2), (1, -1)])),
    st.tuples(st.just("reshape"), st.sampled_from([(-1,), (2, -1), (-1, 3)])),
    st.tuples(st.just("squeeze")),
    st.tuples(st.just("unsqueeze"), st.integers(0, 1)),
    st.tuples(st.just("narrow"), st.just(0), st.integers(0, 1), st.integers(1, 2)),
    st.tuples(st.just("select"), st.integers(0, 1), st.integers(0, 1)),
    st.tuples(st.just("diagonal")),
    st.tuples(st.just("expand"), st.sampled_from([(2, 3), (2, -1, -1), (3, 2, 3)])),
    st.tuples(st.just("detach")),
    st.tuples(st.just("unfold"), st.just(0), st.integers(1, 2), st.integers(1, 2)),
    st.tuples(st.just("as_strided"), st.just((2, 2)), st.sampled_from([(1, 2), (2, 1), (3, 1)]), st.integers(0, 1)),
    st.tuples(st.just("getitem"), _KEY),
    st.tuples(st.just("clone")),
    st.tuples(st.just("contiguous")),
)
_WRITES = st.one_of(
    st.tuples(st.just("add_"), st.integers(1, 3)),
    st.tuples(st.just("mul_"), st.integers(2, 3)),
    st.tuples(st.just("mul_other"), st.integers(0, 5)),
    st.tuples(st.just("copy_other"), st.integers(0, 5)),
    st.tuples(st.just("zero_")),
    st.tuples(st.just("fill_"), st.integers(1, 3)),
    st.tuples(st.just("setitem"), _KEY, st.integers(1, 9)),
    st.tuples(st.just("setitem_other"), _KEY, st.integers(0, 5)),
    st.tuples(st.just("no_grad_add_"), st.integers(1, 3)),
)
_STEP = st.tuples(st.integers(0, 5), st.one_of(_VIEWS, _WRITES))


def _apply(torch: Any, tensors: list[Any], number: int, action: tuple[Any, ...]) -> None:
    tensor = tensors[number % len(tensors)]
    name, *args = action
    other = tensors[args[-1] % len(tensors)] if name.endswith("_other") else None
    if name == "getitem":
        tensors.append(tensor[args[0]])
    elif name == "setitem":
        tensor[args[0]] = float(args[1])
    elif name == "setitem_other":
        tensor[args[0]] = other.clone()
    elif name == "mul_other":
        tensor.mul_(other.clone())
    elif name == "copy_other":
        tensor.copy_(other.clone())
    elif name == "no_grad_add_":
        with torch.no_grad():
            tensor.add_(args[0])
    elif name.endswith("_"):
        getattr(tensor, name)(*args)
    else:
        tensors.append(getattr(tensor, name)(*args))


def _run(torch: Any, program: list[Any], requires_grad: bool) -> tuple[list[Any], Any, int]:
    leaf = torch.tensor(np.arange(6, dtype=np.float32).reshape(2, 3) + 1, requires_grad=requires_grad)
    tensors = [leaf * 1 if requires_grad else leaf]
    accepted = 0
    for number, action in program:
        try:
            _apply(torch, tensors, number, action)
        except (RuntimeError, IndexError, ValueError, TypeError):
            break
        accepted += 1
    return tensors, leaf, accepted


def _accepts(program: list[Any], requires_grad: bool) -> list[Any]:
    """Return the program up to the first step that torch refuses."""
    _, _, accepted = _run(real_torch, program, requires_grad)
    return program[:accepted]


@settings(max_examples=2200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(_STEP, min_size=1, max_size=7), st.booleans())
def test_programs(program: list[Any], requires_grad: bool) -> None:
    program = _accepts(program, requires_grad)
    assume(program)
    want, want_leaf, _ = _run(real_torch, program, requires_grad)
    got, got_leaf, accepted = _run(mstorch, program, requires_grad)
    assert accepted == len(program), f"torch accepts {program[accepted]}"
    for number, (w, g) in enumerate(zip(want, got)):
        assert tuple(w.shape) == tuple(g.shape) and w.stride() == g.stride(), f"tensor {number}: {w.stride()} {g.stride()}"
        np.testing.assert_array_equal(values(g), values(w), err_msg=f"tensor {number}")
        assert w.storage_offset() == g.storage_offset()
    if requires_grad:
        total = sum((t * (i + 1)).sum() for i, t in enumerate(want) if t.requires_grad)
        if not isinstance(total, real_torch.Tensor):
            return
        try:
            total.backward()
        except RuntimeError:
            return  # torch refuses a backward whose saved tensors were overwritten
        sum((t * (i + 1)).sum() for i, t in enumerate(got) if want[i].requires_grad).backward()
        if want_leaf.grad is None:
            return
        same(want_leaf.grad, got_leaf.grad, what="gradient")
