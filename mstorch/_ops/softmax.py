"""Softmax and its logarithm."""
from __future__ import annotations

from typing import Any

from .._backend.table import kernel, torch_type_name
from .._core.dtype import dtype
from ._autocast import follow
from ._dispatch import accept_numpy_names, call, deliver, finish, wrap_dim
from ._forms import accept_forms
from ._memory_order import row_major
from .elementwise import neg

_softmax = kernel("softmax")
_log_softmax = kernel("log_softmax")


def _along(kernel_: Any, name: str, input: Any, dim: int, kind: dtype | None, out: Any) -> Any:
    axis = wrap_dim(dim, len(input._shape))
    kind = kind or input._dtype
    if kind.category < 2:
        if 0 not in input._shape:
            raise NotImplementedError(f'"{name}" not implemented for {torch_type_name(kind.name)}')
        return finish(row_major(input.to(kind, copy=True)), out)
    result = call(kernel_, (input,), axis, dtype=kind)
    return result if out is None else deliver(result, out)


def softmax(input: Any, dim: int, dtype: dtype | None = None, *, out: Any = None) -> Any:
    """``exp(x)`` divided by its sum along ``dim``."""
    return _along(_softmax, "softmax_lastdim_kernel_impl", input, dim, dtype, out)


def log_softmax(input: Any, dim: int, dtype: dtype | None = None, *, out: Any = None) -> Any:
    """The logarithm of softmax, computed without overflow."""
    return _along(_log_softmax, "log_softmax_lastdim_kernel_impl", input, dim, dtype, out)


def softmin(input: Any, dim: int, dtype: dtype | None = None) -> Any:
    """The softmax of ``-x``."""
    return softmax(neg(input), dim, dtype)


FUNCTIONS = ("softmax", "log_softmax")
METHODS = ("softmax", "log_softmax")
accept_numpy_names(globals(), FUNCTIONS)
accept_forms(globals())
follow(globals())
