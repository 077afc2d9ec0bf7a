"""Every differentiable operator of torch's database within a TorchDispatchMode: its gradients are those without the mode."""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from mstorch.utils._python_dispatch import TorchDispatchMode
from tests import databases
from tests.against_torch import values
from tests.databases import ours

LEFT_OUT = {
    **dict.fromkeys(("bernoulli", "normal", "normal.number_mean", "zero_"), "in place: its gradient is not told"),
    **dict.fromkeys(("sparse.sampled_addmm", "sparse.mm.reduce", "to_sparse"), "sparse"),
    **dict.fromkeys(("quantile", "nanquantile"), "the window of a window of a result within one operator"),
    **dict.fromkeys(("svd_lowrank", "pca_lowrank", "svd"), "factors of either sign"),
    **dict.fromkeys(("nn.functional.linear_cross_entropy.chunked", "nn.functional.linear_cross_entropy.chunked_none"), "a Function"),
}  # fmt: skip


class Passing(TorchDispatchMode):
    """A mode that calls every operator unchanged."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _operators() -> list[Any]:
    float32 = real_torch.float32
    return [pytest.param(name, info, id=name) for name, info in databases.operators() if info.supports_autograd and float32 in info.dtypes]


def _flat(value: Any) -> list[Any]:
    return [part for item in value for part in _flat(item)] if isinstance(value, (tuple, list)) else [value]


def _gradients(function: Callable[..., Any], sample: Any, mode: Any) -> list[Any] | None:
    leaves: list[Any] = []
    args, kwargs = ours((sample.input, *sample.args), leaves), ours(sample.kwargs, leaves)
    mstorch.manual_seed(0)
    with mode:
        tracked = [item for item in _flat(function(*args, **kwargs)) if isinstance(item, mstorch.Tensor) and item.requires_grad]
        if not tracked or not leaves:
            return None
        ends = [(mstorch.view_as_real(item) if item.is_complex() else item).square().sum() for item in tracked]
        return list(mstorch.autograd.grad(ends, leaves, allow_unused=True))


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, info", _operators())
def test_gradients(name: str, info: Any) -> None:
    if name in LEFT_OUT:
        pytest.skip(LEFT_OUT[name])
    function = databases._counterpart(info.name, info.op)
    real_torch.manual_seed(0)
    for sample in list(info.sample_inputs("cpu", real_torch.float32, requires_grad=True))[:3]:
        try:
            want = _gradients(function, sample, contextlib.nullcontext())
        except (NotImplementedError, RuntimeError):  # the database's own test compares it with torch
            continue
        if want is None:
            continue
        for a, b in zip(want, _gradients(function, sample, Passing()) or ()):
            a, b = (mstorch.zeros(()) if item is None else item for item in (a, b))
            np.testing.assert_allclose(values(b), values(a), rtol=1e-4, atol=1e-5)
