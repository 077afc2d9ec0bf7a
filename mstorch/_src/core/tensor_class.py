"""The class of tensors: a strided view of a storage, and a place in the autograd graph. The methods are in ``_tensor.py``."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..backend.arrays import Array
from .auto import Auto
from .dtype import dtype
from .strides import Strides

if TYPE_CHECKING:  # class Tensor accepts further arguments
    from ..stubs.methods import TensorMethods as Methods
else:
    Methods = object

on_subclass: list[Callable[[type], None]] = []  # called with each new subclass


class SparseOperand(NotImplementedError):
    """Raised when a strided operation receives a sparse tensor."""


class TensorBase(Methods):
    """Data members of a tensor.

    ``_ms_stride`` is None for row-major strides. ``_ms_array``: cached NumPy view; if the storage is a value, ``_ms_raw`` is the value
    after the writes counted in ``_ms_at``; on a device it is a Window of the base, None if the tensor is all of it. ``_ms_counter``: the
    version counter, the storage unless the tensor came from ``.data``.
    ``_ms_node`` and ``_ms_number``: the autograd node that made the tensor, and the number of the output.
    """

    _ms_sparse = False  # whether the layout is sparse, of any kind (`_src/sparse/base.py`)
    __slots__ = (
        "_ms_storage", "_ms_dtype", "_ms_shape", "_ms_stride", "_ms_offset", "_ms_array", "_ms_raw", "_ms_at", "_ms_counter",
        "_ms_node", "_ms_number", "_ms_auto", "__dict__", "__weakref__",
    )  # fmt: skip
    _ms_storage: Any
    _ms_dtype: dtype
    _ms_shape: tuple[int, ...]
    _ms_stride: Strides | None
    _ms_offset: int
    _ms_array: Array | None
    _ms_raw: Any
    _ms_at: tuple[Any, int] | None
    _ms_counter: Any
    _ms_node: Any
    _ms_number: int
    _ms_auto: Auto | None

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        for look in on_subclass:
            look(cls)
