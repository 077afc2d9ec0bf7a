"""Factories as methods: tensors with another tensor's dtype and device by default."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import device as devices
from ...core.device import device
from ...core.device_tensors import as_asked
from ...core.dtype import dtype
from ...core.formats import layout
from ...core.tensor_base import TensorBase
from .._forms import SIZE
from .._operation import operation
from .creation import empty, empty_strided, full, ones, zeros
from .from_data import copied, copied_tensor, without_values
from .placing import placed


def _device_for(tensor_: TensorBase, device: device | str | int | None) -> Any:
    """Return the device for a new tensor: ``device`` if given, else the device of ``tensor_``."""
    return tensor_.device if device is None else device


@operation
@placed(like=True)
def new_tensor(
    self: TensorBase, data: Any, *, dtype: dtype | None = None, device: device | str | int | None = None, requires_grad: bool = False,
    layout: layout | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return a copy of ``data``, by default with this tensor's dtype."""
    devices.refuse_pinning(pin_memory, device, self)
    if isinstance(data, TensorBase):
        kind, place = dtype or self._ms_dtype, _device_for(self, device)
        found = without_values(data, kind, place, requires_grad)
        return as_asked(copied_tensor(data, kind, requires_grad, "tensor.new_tensor"), place) if found is None else found
    return as_asked(copied(data, dtype or self._ms_dtype, requires_grad), _device_for(self, device))


@operation
@placed(like=True)
def new_full(
    self: TensorBase, size: Sequence[int], fill_value: complex, *, dtype: dtype | None = None, device: device | str | int | None = None,
    requires_grad: bool = False, layout: layout | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return a tensor filled with a value, by default with this tensor's dtype."""
    place = _device_for(self, device)
    return full(size, fill_value, dtype=dtype or self._ms_dtype, device=place, pin_memory=pin_memory, requires_grad=requires_grad)


@operation(forms=SIZE)
@placed(like=True)
def new_empty(
    self: TensorBase, *size: int | Sequence[int], dtype: dtype | None = None, device: device | str | int | None = None,
    requires_grad: bool = False, layout: layout | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return an uninitialized tensor (in mstorch, of zeros), by default with this tensor's dtype."""
    return empty(*size, dtype=dtype or self._ms_dtype, device=_device_for(self, device), pin_memory=pin_memory, requires_grad=requires_grad)


@operation(forms=SIZE)
@placed(like=True)
def new_zeros(
    self: TensorBase, *size: int | Sequence[int], dtype: dtype | None = None, device: device | str | int | None = None,
    requires_grad: bool = False, layout: layout | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return zeros, by default with this tensor's dtype."""
    return zeros(*size, dtype=dtype or self._ms_dtype, device=_device_for(self, device), pin_memory=pin_memory, requires_grad=requires_grad)


@operation(forms=SIZE)
@placed(like=True)
def new_ones(
    self: TensorBase, *size: int | Sequence[int], dtype: dtype | None = None, device: device | str | int | None = None,
    requires_grad: bool = False, layout: layout | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return ones, by default with this tensor's dtype."""
    return ones(*size, dtype=dtype or self._ms_dtype, device=_device_for(self, device), pin_memory=pin_memory, requires_grad=requires_grad)


@operation
@placed(like=True)
def new_empty_strided(
    self: TensorBase, size: Sequence[int], stride: Sequence[int], *, dtype: dtype | None = None, device: int | str | device | None = None,
    requires_grad: bool = False, layout: layout | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return an uninitialized tensor with the given strides (in mstorch, of zeros), by default with this tensor's dtype."""
    place = _device_for(self, device)
    return empty_strided(size, stride, dtype=dtype or self._ms_dtype, device=place, pin_memory=pin_memory, requires_grad=requires_grad)
