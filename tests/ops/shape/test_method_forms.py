"""Methods whose signature differs from the function's, removed functions of torch, and functions that the CPU lacks."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

FORMS = {
    "split": lambda x: (x.split(2), x.split(split_size=1, dim=1), x.split([1, 2], dim=0)),
    "unflatten": lambda x: x.unflatten(dim=1, sizes=(2, 2)),
    "unique": lambda x: (x.round().unique(), x.round().unique(sorted=True, return_inverse=True, return_counts=True)),
    "unique_consecutive": lambda x: x.round().unique_consecutive(return_counts=True),
    "lu": lambda x: (x[:, :3].lu(), x[:, :3].lu(get_infos=True)),
    "dequantize": lambda x: x.dequantize(),
    "dim_order": lambda x: (x.dim_order(), x.t().dim_order()),
    "resize": lambda x: x.resize(4, 3),
    "new": lambda x: (x.new(2, 3).shape, x.new([1, 2]), x.double().new([1.5])),
    "apply_": lambda x: x.clone().apply_(lambda value: value * 2 + 1),
    "map_": lambda x: x.clone().map_(x, lambda a, b: a - 2 * b),
    "map2_": lambda x: x.clone().map2_(x, x, lambda a, b, c: a + b * c),
    "flags": lambda x: (x.is_shared(), x.is_pinned(), x.is_xpu, x.is_mps, x.is_vulkan, x.name, x.is_distributed(), x.grad_dtype),
    "storage_type": lambda x: x.storage_type().__name__,
    "int_repr": lambda x: x.int_repr(),
    "q_scale": lambda x: x.q_scale(),
    "xpu": lambda x: x.xpu(),
    "eig": lambda x: x.eig(),
    "solve": lambda x: x.solve(x),
    "symeig": lambda x: x.symeig(),
    "lstsq": lambda x: x.lstsq(x),
}  # fmt: skip
WORDS = {"int_repr": "aten::int_repr", "q_scale": "aten::q_scale"}


@pytest.mark.parametrize("name", FORMS)
def test_methods(both: Callable[..., Any], name: str) -> None:
    array = np.random.RandomState(0).randn(3, 4).astype(np.float32)
    both(lambda torch: FORMS[name](torch.tensor(array)), message=WORDS.get(name), strides=name != "lu")


@pytest.mark.parametrize("name", "split unflatten unique unique_consecutive lu stft istft eig solve symeig lstsq".split())
def test_signatures(name: str) -> None:
    want, got = (list(inspect.signature(getattr(library.Tensor, name)).parameters) for library in (real_torch, mstorch))
    assert want == got


def test_stft_of_a_tensor(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        window = torch.hann_window(8)
        there = torch.arange(32.0).stft(8, window=window, return_complex=True)
        return there, there.istft(8, window=window)

    both(body, rtol=1e-4, atol=1e-4, strides=False)


REMOVED = {
    "eig": lambda t, x: t.eig(x), "solve": lambda t, x: t.solve(x, x), "symeig": lambda t, x: t.symeig(x),
    "lstsq": lambda t, x: t.lstsq(x, x), "matrix_rank": lambda t, x: t.matrix_rank(x),
}  # fmt: skip


@pytest.mark.parametrize("name", REMOVED)
def test_removed_functions_name_their_successors(both: Callable[..., Any], name: str) -> None:
    both(lambda torch: REMOVED[name](torch, torch.ones(2, 2)))


ABSENT = {
    "batch_norm_stats": lambda t, x: t.batch_norm_stats(x, 1e-5),
    "batch_norm_elemt": lambda t, x: t.batch_norm_elemt(x, None, None, t.zeros(2), t.ones(2), 1e-5),
    "batch_norm_gather_stats": lambda t, x: t.batch_norm_gather_stats(x, x, x, None, None, 0.1, 1e-5, 4),
    "native_norm": lambda t, x: t.native_norm(x),
    "empty_quantized": lambda t, x: t.empty_quantized((2,), x),
    "indices_copy": lambda t, x: t.indices_copy(x.to_sparse()),
    "to_padded_tensor": lambda t, x: x.to_padded_tensor(0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", ABSENT)
def test_functions_without_a_cpu_kernel(both: Callable[..., Any], name: str) -> None:
    both(lambda torch: ABSENT[name](torch, torch.ones(2, 2)), message=f"Could not run 'aten::{name}'")


def test_special_takes_softmax_too(both: Callable[..., Any]) -> None:
    both(lambda torch: (
        torch.special.softmax(torch.arange(3.0), 0, dtype=torch.float64), torch.special.log_softmax(torch.arange(3.0), 0),
        torch.special.logsumexp(torch.arange(3.0), 0),
    ))  # fmt: skip
