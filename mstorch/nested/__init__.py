"""torch.nested: tensors of tensors with different sizes, in the strided and the jagged layout.

A nested tensor keeps the elements of all components in one tensor, whose autograd graph is the nested tensor's: operations that ignore
component boundaries run on all elements at once. In the strided layout, components may have any sizes; in the jagged one, they differ in
one dimension. Differs from torch: strided nested tensors have a class of their own, and support all elementwise operations.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._src.core.above import above as _above
from .._src.core.device import device
from .._src.core.dtype import dtype
from .._src.core.formats import jagged, layout, strided
from .._src.core.nested_parts import is_nested
from .._src.hook import missing as _missing
from .._src.ops.memory.creation import arange as _arange
from .._src.ops.memory.from_data import as_tensor as _as_tensor
from .._src.ops.memory.from_data import tensor as _tensor
from .._tensor import Tensor
from ..autograd import no_grad as _no_grad
from ..nn import functional as _F
from . import _internal
from ._internal import shapes as _shapes
from ._internal import strided_views as _strided_views
from ._internal.nested_tensor import (
    jagged_from_list,
    jagged_from_tensor_and_lengths,
    nested_view_from_values_offsets,
    nested_view_from_values_offsets_lengths,
)
from ._internal.strided import alias, from_list, in_buffer, leaf_of, sizes_of

_above.nested = _internal
ENTERED = (_shapes, _strided_views)  # importing them fills the tables of operations


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """Return a dense tensor of a nested tensor's components, padded with ``padding``."""
    return input.to_padded_tensor(padding, output_size)


def _unsupported(layout: layout, what: str = "tensors") -> RuntimeError:
    return RuntimeError(f"Specified layout is unsupported for nested {what}: {layout}")


def nested_tensor(
    tensor_list: Sequence[Any], *, dtype: dtype | None = None, layout: layout | None = None, device: int | str | device | None = None,
    requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """Return a nested tensor, a leaf, with copies of tensors or data."""
    if layout is None or layout is strided:
        if not isinstance(tensor_list, (list, tuple)):
            raise TypeError(f"nested_tensor(): argument 'list' must be tuple of Tensors, not {type(tensor_list).__name__}")
        return leaf_of(tensor_list, dtype, device, requires_grad, pin_memory)
    if layout is not jagged:
        raise _unsupported(layout)
    with _no_grad():
        tensors = [item if isinstance(item, Tensor) else _as_tensor(item) for item in tensor_list]
        nested = jagged_from_list([item.detach() for item in tensors], None, dtype, device)[0]
    nested.requires_grad_(requires_grad)
    return nested.pin_memory() if pin_memory else nested


def as_nested_tensor(ts: Any, dtype: Any = None, device: int | str | device | None = None, layout: Any = None) -> Tensor:
    """Return a nested tensor of the rows of a tensor, or of copies of a list of tensors; gradients flow back to them."""
    several = isinstance(ts, (list, tuple)) and all(isinstance(item, Tensor) for item in ts)
    if not isinstance(ts, Tensor) and not several:
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, Tensor) and ts.dim() < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    if is_nested(ts) and layout is not ts.layout:
        raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
    layout = strided if layout is None else layout
    if layout is not strided and layout is not jagged:
        raise _unsupported(layout)
    if several:
        return from_list(ts, dtype, device) if layout is strided else jagged_from_list(ts, None, dtype, device)[0]
    kind = {"device": ts.device if device is None else device, "dtype": ts.dtype if dtype is None else dtype}
    if is_nested(ts):
        return ts.to(**kind)
    if layout is strided:
        return in_buffer(alias(ts.reshape(-1)).to(**kind), sizes_of(ts.shape[1:], ts.shape[0]))
    values, length = ts.contiguous().flatten(0, 1).to(**kind), ts.shape[1]
    offsets = _arange(0, ts.shape[0] * length + 1, max(length, 1), device=values.device)
    return nested_view_from_values_offsets(values, offsets, 1, length, length)


def narrow(tensor: Tensor, dim: int, start: int | Tensor, length: int | Tensor, layout: layout = strided) -> Tensor:
    """Return a jagged nested tensor of a slice of each row of a tensor; ``start`` and ``length`` may be given per row."""
    for name, value in (("start", start), ("length", length)):
        if not isinstance(value, (int, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    if layout is strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(tensor.unbind()).narrow(dim, start, length)
    if layout is not jagged:
        raise _unsupported(layout, "narrow")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    begin, long = (item if isinstance(item, Tensor) else _tensor([item], device=tensor.device) for item in (start, length))
    return jagged_from_tensor_and_lengths(tensor, begin, long)[0]


def nested_tensor_from_jagged(
    values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None, jagged_dim: int | None = None,
    min_seqlen: int | None = None, max_seqlen: int | None = None,
) -> Tensor:  # fmt: skip
    """Return a jagged nested tensor that views ``values``, in which the components are concatenated.

    ``offsets`` (B + 1) are the starts of the components, and the end; ``lengths`` (B) are their lengths. With both, there may be gaps
    between components.
    """
    if not isinstance(values, Tensor) and hasattr(values, "tracer"):  # a proxy of fx
        raise RuntimeError(
            "torch.nested.nested_tensor_from_jagged does not support tracing with fx.symbolic_trace. Use fx.wrap to wrap the function "
            "that calls nested_tensor_from_jagged."
        )
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = _F.pad(lengths.cumsum(0), (1, 0)), None
    if jagged_dim is not None and jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    return nested_view_from_values_offsets_lengths(values, offsets, lengths, jagged_dim or 1, min_seqlen, max_seqlen)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """Return the elements of each row where a mask is True, as a jagged nested tensor."""
    for what, item in (("strided tensor, given", tensor), ("strided mask, given:", mask)):
        if item.layout is not strided:
            raise RuntimeError(f"torch.nested.masked_select requires a {what} {item.layout}")
    lengths = mask.expand(tensor.shape).sum(tensor.dim() - 1).view(-1)
    return nested_view_from_values_offsets(tensor.masked_select(mask), _F.pad(lengths.cumsum(0), (1, 0)))


__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]
__getattr__ = _missing(__name__)
