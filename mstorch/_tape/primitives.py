"""Operations as rules use them: on bare values they compute, on tensors they are recorded as well."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._backend.raw import NAME_OF_NP, NP_DTYPE, from_numpy
from .._backend.table import kernel
from .._core.dtype import OF_MS
from .._core.tensor_base import TensorBase, tensor_of
from .apply import apply, as_raw


class Primitive:
    """An operation as rules use it: on bare values it computes, on tensors it is recorded as well."""

    __slots__ = ("kernel",)

    def __init__(self, op: str) -> None:
        self.kernel = kernel(op)

    def __call__(self, *args: Any) -> Any:
        first = args[0]
        if first.__class__ is np.ndarray:
            found = self.kernel.host[NAME_OF_NP[first.dtype]](*args)
            return found if found.__class__ is np.ndarray else np.asarray(found)
        if isinstance(first, TensorBase):
            count = 1
            while count < len(args) and isinstance(args[count], TensorBase):
                count += 1
            return apply(self.kernel, first._dtype, args[:count], args[count:])
        return self.kernel[OF_MS[first.dtype].name](*[as_raw(item) for item in args])


def dtype_name(value: Any) -> str:
    """The dtype's name of a bare value or a tensor."""
    if isinstance(value, TensorBase):
        return value._dtype.name
    return NAME_OF_NP[value.dtype] if value.__class__ is np.ndarray else OF_MS[value.dtype].name


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a bare value or a tensor."""
    return value._shape if isinstance(value, TensorBase) else tuple(value.shape)


def constant(number: Any, like: Any) -> Any:
    """A 0-d value of the dtype and kind of another."""
    name = dtype_name(like)
    array = np.asarray(number, NP_DTYPE[name])
    if isinstance(like, TensorBase):
        made = tensor_of(array)  # a number of the CPU, which any device takes
        made.__dict__["_wrapped_number"] = True
        return made
    return array if like.__class__ is np.ndarray else from_numpy(array)
