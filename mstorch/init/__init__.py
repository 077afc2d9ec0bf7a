"""torch.nn.init: initialization of parameters; every function fills a tensor in place and returns it."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .._src.backend.arrays import Array
from .._src.backend.cell import is_raw
from .._src.backend.initializers import initial
from .._src.core.above import above
from .._src.core.generator import Generator, engine_of
from .._src.core.overriding import is_taken
from .._src.core.strides import iteration_order, preserved_strides
from .._src.core.tensor_base import array_of, strides_of
from .._src.core.warned import warn, warn_shown_once
from .._src.ops._numbers import refuse_tracked
from .._src.ops._operation import IN_PLACE, operation
from .._src.ops.memory.copying import copy_, fill_, is_contiguous, zero_
from .._src.ops.memory.from_data import made
from .._src.ops.random import random
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..nn.parameter import set_data

# torch's own list of layers and functions whose gain is 1; it rejects all others.
_PLAIN = ("linear", "sigmoid", *(f"conv{form}{rank}d" for form in ("", "_transpose") for rank in (1, 2, 3)))


def calculate_gain(nonlinearity: str, param: int | float | None = None) -> float:
    """Return the recommended gain of a nonlinearity: 1 for linear ones, 5/3 for tanh, the square root of 2 for relu."""
    if nonlinearity in _PLAIN:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _shape(tensor: Tensor) -> tuple[int, ...]:
    """Return the shape that the tensor reports; for a DTensor this is the global shape."""
    return tuple(tensor.shape)


_F = TypeVar("_F", bound=Callable[..., Any])


def _drawn(function: _F) -> _F:
    """Declare a function that fills a tensor with random numbers; the decorator keeps its signature for type checkers."""
    return operation(draws=IN_PLACE)(function)  # type: ignore[return-value]


@_drawn
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill the tensor with uniform numbers in [a, b)."""
    with no_grad():
        return random.uniform_(tensor, a, b, generator=generator)


@_drawn
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill the tensor with normal numbers."""
    with no_grad():
        return random.normal_(tensor, mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Generator | None = None
) -> Tensor:
    """Fill the tensor with normal numbers truncated to [a, b]."""
    refuse_tracked(mean, std, a, b)
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_shown_once(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
        )
    shape, strides, contiguous = tensor._ms_shape, strides_of(tensor), is_contiguous(tensor)
    order = range(len(shape)) if contiguous else iteration_order(shape, (strides,))[::-1]  # torch draws in the order of memory
    array = random.draw(
        "trunc_normal", engine_of(generator), tuple(shape[i] for i in order), float(mean), float(std), float(a), float(b),
        tensor._ms_dtype.name, contiguous, preserved_strides(shape, strides) is None,
    )
    if not contiguous:
        array = array.transpose(np.argsort(order))
    _fill(getattr(tensor, "_local_tensor", tensor), array)  # the local shard of a DTensor
    return tensor


def _fill(tensor: Tensor, array: Array) -> Tensor:
    """Store an array's values in the tensor, outside of autograd."""
    with no_grad():
        if is_taken(tensor):  # handlers have to see where the values come from
            return tensor.copy_(above.torch.tensor(array, device=tensor.device))
        return copy_(tensor, made(np.asarray(array, order="C")))


def from_initializer(tensor: Tensor, init: Any) -> Tensor:
    """Fill the tensor by a MindSpore initializer: ``HeNormal()``, ``Normal(0.02)``, ``"xavier_uniform"``, or ``initializer(…)``.

    As in MindSpore, it draws from NumPy's global generator (``mindspore.set_seed``). Raise ValueError if the shapes differ.
    """
    set_data(tensor, init if is_raw(init) else initial(init, tuple(tensor._ms_shape), tensor._ms_dtype.ms))
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill the tensor with a value."""
    with no_grad():
        fill_(tensor, val)
    return tensor


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    return constant_(tensor, val)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 0.0)


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Generator | None = None) -> Tensor:
    return uniform_(tensor, a, b, generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Generator | None = None) -> Tensor:
    return normal_(tensor, mean, std, generator)


def _no_grad_trunc_normal_(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None = None
) -> Tensor:
    return trunc_normal_(tensor, mean, std, a, b, generator)


def ones_(tensor: Tensor) -> Tensor:
    """Fill the tensor with ones."""
    with no_grad():
        fill_(tensor, 1.0)
    return tensor


def zeros_(tensor: Tensor) -> Tensor:
    """Fill the tensor with zeros."""
    with no_grad():
        zero_(tensor)
    return tensor


def eye_(tensor: Tensor) -> Tensor:
    """Fill the 2-d tensor with the identity matrix."""
    shape = _shape(tensor)
    if len(shape) != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _fill(tensor, np.eye(*shape, dtype=np.float32))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the 3-d to 5-d convolution weight such that channels pass through unchanged."""
    shape = _shape(tensor)
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    each = shape[0] // groups
    array = np.zeros(shape, np.float32)
    middle = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for d in range(min(each, shape[1])):
            array[(group * each + d, d, *middle)] = 1
    return _fill(tensor, array)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    shape = _shape(tensor)
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill the tensor with uniform numbers in ±``gain * sqrt(6 / (fan_in + fan_out))`` (Glorot)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill the tensor with normal numbers of standard deviation ``gain * sqrt(2 / (fan_in + fan_out))`` (Glorot)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _warn_if_empty(tensor: Tensor) -> bool:
    if 0 in _shape(tensor):
        warn_shown_once("Initializing zero-element tensors is a no-op")
        return True
    return False


@_drawn
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> Tensor:
    """Fill the tensor with uniform numbers in ±``gain * sqrt(3 / fan)`` (He)."""
    if _warn_if_empty(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> Tensor:
    """Fill the tensor with normal numbers of standard deviation ``gain / sqrt(fan)`` (He)."""
    if _warn_if_empty(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill the tensor, flattened to a matrix, with orthogonal rows or columns (https://arxiv.org/abs/1312.6120)."""
    shape = _shape(tensor)
    if len(shape) < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if 0 in shape:
        return tensor
    rows, columns = shape[0], math.prod(shape[1:])
    kind = tensor._ms_dtype
    flat = np.asarray(random.draw("normal", engine_of(generator), (rows, columns), 0.0, 1.0, kind.name))
    if rows < columns:
        flat = flat.T
    q, r = np.linalg.qr(flat)
    q = q * np.sign(np.diag(r))
    if rows < columns:
        q = q.T
    return _fill(tensor, (np.ascontiguousarray(q) * flat.dtype.type(gain)).reshape(shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill the 2-d tensor with normal numbers, and set the fraction ``sparsity`` of each column to zero."""
    shape = _shape(tensor)
    if len(shape) != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = shape
    zeros = math.ceil(sparsity * rows)
    normal_(tensor, 0, std, generator)
    array = np.array(array_of(tensor))
    for column in range(columns):
        # torch shuffles with the default generator here, even if another is given.
        array[random.draw("permutation", engine_of(None), rows, "int64")[:zeros], column] = 0
    return _fill(tensor, array)


P = ParamSpec("P")


def _deprecated(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    new = function.__name__
    old = new[:-1]

    def renamed(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning
        )
        return function(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = old
    renamed.__doc__ = f"Deprecated name of ``{new}``."
    return renamed


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "from_initializer", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse", "sparse_",
    "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip
