"""Functions that torch has for CUDA or quantized tensors only: on a CPU they raise, here as there."""
from __future__ import annotations

from typing import Any, NoReturn

from .._core.sparse_parts import is_sparse
from .._sparse.reduce import norm


def _absent(name: str) -> NoReturn:
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. torch has no such kernel for the CPU either."
    )


def batch_norm_stats(input: Any, eps: float) -> NoReturn:
    """Raises NotImplementedError: a part of batch norm over several GPUs."""
    _absent("batch_norm_stats")


def batch_norm_elemt(input: Any, weight: Any, bias: Any, mean: Any, invstd: Any, eps: float, *, out: Any = None) -> NoReturn:
    """Raises NotImplementedError: a part of batch norm over several GPUs."""
    _absent("batch_norm_elemt")


def batch_norm_backward_reduce(
    grad_out: Any, input: Any, mean: Any, invstd: Any, weight: Any, input_g: bool, weight_g: bool, bias_g: bool
) -> NoReturn:
    """Raises NotImplementedError: a part of batch norm over several GPUs."""
    _absent("batch_norm_backward_reduce")


def batch_norm_backward_elemt(
    grad_out: Any, input: Any, mean: Any, invstd: Any, weight: Any, sum_dy: Any, sum_dy_xmu: Any, count: Any
) -> NoReturn:
    """Raises NotImplementedError: a part of batch norm over several GPUs."""
    _absent("batch_norm_backward_elemt")


def batch_norm_gather_stats(
    input: Any, mean: Any, invstd: Any, running_mean: Any, running_var: Any, momentum: float, eps: float, count: int
) -> NoReturn:
    """Raises NotImplementedError: a part of batch norm over several GPUs."""
    _absent("batch_norm_gather_stats")


def batch_norm_gather_stats_with_counts(
    input: Any, mean: Any, invstd: Any, running_mean: Any, running_var: Any, momentum: float, eps: float, counts: Any
) -> NoReturn:
    """Raises NotImplementedError: a part of batch norm over several GPUs."""
    _absent("batch_norm_gather_stats_with_counts")


def empty_quantized(size: Any, qtensor: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                    pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None) -> NoReturn:  # fmt: skip
    """Raises NotImplementedError: there are no quantized tensors."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"empty_quantized(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    _absent("empty_quantized")


def native_norm(
    input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None, *, out: Any = None
) -> Any:
    """The norm of a sparse tensor; NotImplementedError for a strided one, as in torch."""
    return norm(input, p, dim) if is_sparse(input) else _absent("native_norm")
