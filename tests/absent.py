"""The operators of torch's database on the meta device: shapes, dtypes, strides and gradients are compared with torch's.

    python -m tests.absent             # the whole sweep; -k TEXT for operators whose name contains the text

What torch does not compute there is left out. ``tests/core/test_meta.py`` runs a part of this in the suite.
"""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mstorch
from tests import databases
from tests.databases import _flat, _mapped

STRIDES_ARE_FREE = frozenset(("empty", "empty_like", "new_empty", "empty_permuted"))


def _moved(value: Any, library: Any, leaves: list[Any]) -> Any:
    """Return a sample with its tensors on the meta device; those that require grad are new leaves."""
    if isinstance(value, torch.Tensor):
        one = value.detach() if library is torch else databases.ours(value.detach(), [])
        made = one.to("meta")
        if value.requires_grad:
            leaves.append(made.requires_grad_())
        return made
    if isinstance(value, (tuple, list, dict)):
        return _mapped(value, lambda item: _moved(item, library, leaves))
    return value if library is torch else databases.ours(value, [])


def _told(tensor: Any) -> tuple[Any, ...]:
    shape = tuple(tensor.shape)
    steps = tuple(step for length, step in zip(shape, tensor.stride()) if length > 1) if 0 not in shape else ()
    return shape, str(tensor.dtype).removeprefix("mstorch.").removeprefix("torch."), str(tensor.device), steps


def _backward(result: Any, library: Any, leaves: list[Any]) -> list[Any]:
    databases.backward(result)
    return [None if leaf.grad is None else _told(leaf.grad) for leaf in leaves]


def check_operator(info: Any) -> None:
    """Raise unless an operator's results and gradients on the meta device have torch's shapes, dtypes and strides."""
    kind = next(d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes)
    databases._seed()
    needs_grad = bool(info.supports_autograd) and kind is torch.float32
    samples = databases._chosen(list(info.sample_inputs("cpu", kind, requires_grad=needs_grad)))
    function = databases._counterpart(info.name, info.op)
    for number, sample in enumerate(samples):
        whole = ((sample.input, *sample.args), sample.kwargs)
        leaves: tuple[list[Any], list[Any]] = ([], [])
        (t_args, t_kwargs), (args, kwargs) = _moved(whole, torch, leaves[0]), _moved(whole, mstorch, leaves[1])
        try:
            wanted = info.op(*t_args, **t_kwargs)
        except (NotImplementedError, RuntimeError):
            continue
        told = [_told(one) for one in _flat(wanted) if isinstance(one, torch.Tensor)]
        found = function(*args, **kwargs)
        got = [_told(one) for one in _flat(found) if isinstance(one, mstorch.Tensor)]
        if info.name in STRIDES_ARE_FREE:
            told, got = [one[:3] for one in told], [one[:3] for one in got]
        assert got == told, f"sample {number}: {told} expected, {got} given"
        try:
            slopes = _backward(wanted, torch, leaves[0])
        except (NotImplementedError, RuntimeError):
            continue
        mine = _backward(found, mstorch, leaves[1])
        for place, (one, other) in enumerate(zip(slopes, mine)):
            if one is not None or other is not None:
                assert one is not None and other is not None, f"sample {number}, gradient {place}: {one} expected, {other} given"
                assert one[:3] == other[:3], f"sample {number}, gradient {place}: {one} expected, {other} given"


def items() -> dict[str, Callable[[], None]]:
    """Return the checks by operator, in the database's order."""
    return {name: functools.partial(check_operator, info) for name, info in databases.operators()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    databases.print_sweep("absent", __doc__, items())
