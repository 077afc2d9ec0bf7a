"""``tensor[mask] = number`` on a device: a masked fill, as in torch, without computing the indices of True elements."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...backend.arrays import Number
from ...backend.table import kernel
from ...core.dtype import bool_
from ...core.modes import modes
from ...core.tensor_base import TensorBase, is_tracked, tensor_of
from ...core.writable import check_history, check_view
from ...tape.apply import apply
from ...tape.moving import beside
from ...tape.ways import ways
from .._dispatch import cast_tensor, contiguous_copy, is_number, readable
from .._in_place import in_place_form
from .._numbers import fitting
from .._operation import Record
from ..shape import views
from ._keys import lone_mask
from ._values_put import number_as

_where = kernel("where")


def _fill(input: TensorBase, mask: TensorBase, value: TensorBase | Number) -> TensorBase:
    filler = value if isinstance(value, TensorBase) else tensor_of(number_as(value, input).copy())
    return apply(_where, input._ms_dtype, (mask, filler, input), label="IndexPutBackward0")


_fill.record = Record(writes_some=True)  # type: ignore[attr-defined]
_fill_ = in_place_form(_fill, "masked_fill_", uniform=True)


def _window_of_mask(
    self: TensorBase, key: Any, value: TensorBase | Number, expanded: Callable[..., Any], basic: Callable[..., Any]
) -> tuple[Any, Any] | None:
    if not (is_number(value) or isinstance(value, TensorBase) and math.prod(value._ms_shape) == 1):
        return None
    mask = lone_mask(key)
    if not isinstance(mask, TensorBase) or mask._ms_dtype is not bool_:
        return None
    items = expanded(key, len(self._ms_shape))
    if any(isinstance(item, bool) for item in items):
        return None
    place = next(number for number, item in enumerate(items) if item is mask)
    rank = len(mask._ms_shape)
    around = (*items[:place], *(slice(None),) * rank, *items[place + 1 :])
    current = self if all(isinstance(item, slice) and item == slice(None) for item in around) else basic(self, around)[0]
    dim = len([item for item in items[:place] if item is None or isinstance(item, slice)])
    if current._ms_shape[dim : dim + rank] != mask._ms_shape:
        return None
    wide = views.reshape(beside(mask, self), mask._ms_shape + (1,) * (len(current._ms_shape) - dim - rank))
    return current, wide


@ways(device=_window_of_mask)
def window_of_mask(
    self: TensorBase, key: Any, value: TensorBase | complex, expanded: Callable[..., Any], basic: Callable[..., Any]
) -> tuple[Any, Any] | None:
    """For a key on a device that contains one mask, return the view by the key's other items, and the mask reshaped to this view; None for
    other keys.

    ``expanded`` and ``basic`` parse keys (``subscript.py``).
    """
    return None


def fill(part: tuple[Any, Any], value: Any) -> None:
    """Fill a view of a tensor where its mask is True."""
    current, mask = part
    if is_number(value):
        number_as(value, current)  # as in torch, the number is checked first, then autograd's rules
    check_history(current)
    if modes.grad and isinstance(value, TensorBase) and is_tracked(value):
        check_view(current)
    if isinstance(value, TensorBase):
        if value._ms_dtype is not current._ms_dtype and readable(value) is not None:
            fitting(value.item(), current._ms_dtype)
        value = views.reshape(value, ())
        value = contiguous_copy(value) if value._ms_storage is current._ms_storage else value
        value = value if value._ms_dtype is current._ms_dtype else cast_tensor(value, current._ms_dtype)
    _fill_(current, mask, value)
