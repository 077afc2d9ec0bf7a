"""Functions that torch has for CUDA or quantized tensors only: on a CPU they raise, as in torch."""
from __future__ import annotations

from typing import Any, NoReturn

from .._core.device import device
from .._core.dtype import dtype
from .._core.formats import layout, memory_format
from .._core.sparse_parts import is_sparse
from .._sparse.reduce import norm
from .._tensor import Tensor


def _absent(name: str) -> NoReturn:
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. torch has no such kernel for the CPU either."
    )


def batch_norm_stats(input: Tensor, eps: float) -> NoReturn:
    """Raise NotImplementedError: part of synchronized batch norm on GPUs."""
    _absent("batch_norm_stats")


def batch_norm_elemt(
    input: Tensor, weight: Any, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float, *, out: Tensor | None = None
) -> NoReturn:
    """Raise NotImplementedError: part of synchronized batch norm on GPUs."""
    _absent("batch_norm_elemt")


def batch_norm_backward_reduce(
    grad_out: Any, input: Any, mean: Any, invstd: Any, weight: Any, input_g: bool, weight_g: bool, bias_g: bool
) -> NoReturn:
    """Raise NotImplementedError: part of synchronized batch norm on GPUs."""
    _absent("batch_norm_backward_reduce")


def batch_norm_backward_elemt(
    grad_out: Any, input: Any, mean: Any, invstd: Any, weight: Any, sum_dy: Any, sum_dy_xmu: Any, count: Any
) -> NoReturn:
    """Raise NotImplementedError: part of synchronized batch norm on GPUs."""
    _absent("batch_norm_backward_elemt")


def batch_norm_gather_stats(
    input: Tensor, mean: Tensor, invstd: Tensor, running_mean: Any, running_var: Any, momentum: float, eps: float, count: int
) -> NoReturn:
    """Raise NotImplementedError: part of synchronized batch norm on GPUs."""
    _absent("batch_norm_gather_stats")


def batch_norm_gather_stats_with_counts(
    input: Any, mean: Any, invstd: Any, running_mean: Any, running_var: Any, momentum: float, eps: float, counts: Any
) -> NoReturn:
    """Raise NotImplementedError: part of synchronized batch norm on GPUs."""
    _absent("batch_norm_gather_stats_with_counts")


def empty_quantized(
    size: Any, qtensor: Any, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: memory_format | None = None,
) -> NoReturn:  # fmt: skip
    """Raise NotImplementedError: the tensor is not quantized."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"empty_quantized(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    _absent("empty_quantized")


def native_norm(
    input: Tensor, p: Any = 2, dim: int | None = None, keepdim: bool = False, dtype: dtype | None = None, *, out: Tensor | None = None
) -> Any:
    """Return the norm of a sparse tensor; raise NotImplementedError for a strided one, as in torch."""
    return norm(input, p, dim) if is_sparse(input) else _absent("native_norm")
