"""Indices, segments and hashes: ``unravel_index``, ``segment_reduce``, ``hash_tensor``, numeric slices."""
from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.errors import not_for
from ...backend.host.scatter import wide
from ...core.dtype import float64, int64, uint64
from ...core.tensor_base import TensorBase, array_of, tensor_of
from ...quiet import quiet
from ...tape.composite import record, refuse
from ...tape.ways import followed
from ...tape.windows import no_view
from .._dispatch import finish, wrap_dim, wrap_dims
from ..elementwise.bitwise import bitwise_xor
from ..elementwise.elementwise import div
from ..memory._view_dtype import view_dtype
from ..memory.creation import full, zeros
from ..reduce.reduce import amax, amin, prod
from ..reduce.reduce import sum as sum_of
from ..shape import parts, views
from ..shape.join import cat, stack


def unravel_index(indices: TensorBase, shape: int | Sequence[int]) -> tuple[Any, ...]:
    """Return a tuple of index tensors, one per dimension, for flat indices in a tensor of ``shape``."""
    kind = indices._ms_dtype if isinstance(indices, TensorBase) else None
    if kind is None:
        raise AttributeError(f"'{type(indices).__name__}' object has no attribute 'is_complex'")
    if kind.category != 1:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {kind}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {_torch_type(shape)}")
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    for length in lengths:
        if not isinstance(length, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {_torch_type(length)}")
    if any(length < 0 for length in lengths):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(lengths)}")
    indices = indices.to(int64)
    found, step = [], 1
    for length in reversed(lengths):
        part = indices // step if step <= np.iinfo(np.int64).max else indices * 0
        found.append(part % length)
        step *= length
    return parts.unbind(stack(found[::-1], -1), -1) if found else ()


def _torch_type(value: Any) -> str:
    return "<class 'torch.Tensor'>" if isinstance(value, TensorBase) else str(type(value))


_REDUCTIONS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, **dict.fromkeys(("max", "amax"), -np.inf), **dict.fromkeys(("min", "amin"), np.inf)}


def segment_reduce(
    data: TensorBase, reduce: str, *, lengths: Any = None, indices: TensorBase | None = None, offsets: TensorBase | None = None,
    axis: int = 0, unsafe: bool = False, initial: float | None = None,
) -> TensorBase:  # fmt: skip
    """Return the sum, mean, max, min or product of segments along a dimension, given by lengths or offsets."""
    shape = data._ms_shape
    axis = wrap_dim(axis, len(shape))
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not data._ms_dtype.is_floating_point:
        raise not_for("_segment_reduce_cpu", data._ms_dtype.name)
    given = lengths if offsets is None else offsets
    if given._ms_dtype.category != 1:
        raise not_for("_segment_reduce_lengths_cpu_kernel1", given._ms_dtype.name)
    if len(given._ms_shape) - 1 != axis:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}.")
    counts = array_of(given).astype(np.int64)
    if offsets is not None:
        counts = np.diff(counts, axis=-1)
    elif not unsafe:
        if counts.min(initial=0) < 0:
            raise RuntimeError("lengths contains negative value!")
        if (counts.sum(-1) != shape[axis]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
            )
    lead, rest = shape[:axis], shape[axis + 1 :]
    own = data.detach() if followed((data,)) else data
    rows = views.reshape(own, (int(np.prod(lead)) * shape[axis], *rest))
    flat = counts.reshape(-1, counts.shape[-1])
    parts, spans = [], []
    for batch, row in enumerate(flat):
        start = batch * shape[axis] + (0 if offsets is None else int(array_of(given).reshape(len(flat), -1)[batch, 0]))
        for count in row:
            spans.append((start, start + int(count)))
            parts.append(_segment(views.slice_dim(rows, 0, *spans[-1], 1), reduce, initial, rest))
            start += int(count)
    if not parts:
        return zeros((*lead, counts.shape[-1], *rest), dtype=data._ms_dtype, device=data.device)
    found = no_view(views.reshape(stack(parts), (*lead, counts.shape[-1], *rest)))
    return found if own is data else record("SegmentReduceBackward0", _segment_slopes, (data,), (found,), reduce, axis, spans, initial)[0]


def _segment_slopes(
    gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase], reduce: str, axis: int,
    spans: Sequence[tuple[int, int]], initial: float | None
) -> tuple[TensorBase]:
    """Return the gradient of ``segment_reduce``: tied extremes (NaNs are equal) share it; a zero or NaN in a product gets the product of
    the other factors.
    """
    (g,), (y,), (x,) = gradients, outputs, inputs
    if g is None:
        return (None,)
    rest = x._ms_shape[axis + 1 :]
    values, slopes, results = (wide(array_of(item)).reshape(-1, *rest) for item in (x, g, y))
    found = np.zeros_like(values)
    with quiet():
        for slope, result, (start, end) in zip(slopes, results, spans):
            part = values[start:end]
            if reduce in ("sum", "mean"):
                found[start:end] = slope if reduce == "sum" else slope / values.dtype.type(max(end - start, 1))
            elif reduce == "prod":
                found[start:end] = slope * result / part
                for place in np.unique(np.nonzero(np.isnan(part) | (part == 0))[0]):
                    others = np.multiply.reduce(np.delete(part, place, 0), 0) * part.dtype.type(1 if initial is None else initial)
                    alone = np.isnan(part[place]) | (part[place] == 0)
                    found[start + place] = np.where(alone, slope * others, found[start + place])
            else:
                chosen = (part == result) | np.isnan(part) & np.isnan(result)
                found[start:end] = np.where(chosen, slope / np.maximum(chosen.sum(0), 1).astype(part.dtype), part.dtype.type(0))
    made = tensor_of(found.reshape(x._ms_shape).astype(array_of(x).dtype)).to(x.device)
    error = RuntimeError("derivative for aten::_segment_reduce_backward is not implemented")
    return (refuse("NotImplemented", "_segment_reduce_backward", g, made, error, x),)


def _segment(part: TensorBase, reduce: str, initial: float | None, rest: tuple[int, ...]) -> TensorBase:
    count = part._ms_shape[0]
    if initial is not None:
        first = full((1, *rest), initial, dtype=part._ms_dtype, device=part.device)
        part = cat((first, part))
    elif not count:
        value = np.nan if reduce == "mean" else _REDUCTIONS[reduce]
        return sum_of(part, 0) + value
    if reduce in ("sum", "mean"):
        total = sum_of(part, 0)
        return div(total, count) if reduce == "mean" and count else total
    if reduce == "prod":
        return prod(part, 0)
    return (amax if reduce in ("max", "amax") else amin)(part, 0)


def hash_tensor(
    input: TensorBase, dim: int | tuple[int, ...] = (), *, keepdim: bool = False, mode: int = 0, out: TensorBase | None = None
) -> TensorBase:
    """Return the bitwise xor of the elements (floating ones as float64, integers as int64), as uint64."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input._ms_dtype.is_complex:
        raise not_for("xor_sum_cpu", input._ms_dtype.name)
    shape = input._ms_shape
    dims = wrap_dims(dim, len(shape))
    if 0 in shape:
        if isinstance(dim, (tuple, list)) and not dim:
            raise RuntimeError(
                "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                "'dim' argument."
            )
        for d in dims:
            if shape[d] == 0:
                raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    plain = input.detach()
    bits = view_dtype(plain.to(float64).contiguous(), int64) if input._ms_dtype.is_floating_point else plain.to(int64)
    dims = tuple(d for d in dims if d < len(shape))
    kept = [d for d in range(len(shape)) if d not in dims]
    bits = views.reshape(views.permute(bits, (*kept, *dims)), (*(shape[d] for d in kept), -1) if bits.numel() else (0,))
    while bits.numel() and bits._ms_shape[-1] > 1:
        count = bits._ms_shape[-1]
        half = count // 2
        folded = bitwise_xor(views.narrow(bits, -1, 0, half), views.narrow(bits, -1, half, half))
        bits = cat((folded, views.narrow(bits, -1, count - 1, 1)), -1) if count % 2 else folded
    wanted = tuple(1 if d in dims else n for d, n in enumerate(shape) if keepdim or d not in dims)
    return finish(views.reshape(bits, wanted).to(uint64), out)


def slice_of(self: TensorBase, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> TensorBase:
    """Return the view ``self[start:end:step]`` along one dimension."""
    rank = len(self._ms_shape)
    if not rank:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, rank)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, last, step = builtins.slice(start, end, step).indices(self._ms_shape[dim])
    return views.slice_dim(self, dim, first, max(first, last), step)


def slice_inverse(
    input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> TensorBase:
    """Return a view of the storage of ``input``, a slice of ``src``, with the size, strides and offset of ``src``."""
    return views.as_strided(input, src._ms_shape, src.stride(), src.storage_offset())


_segment_reduce = segment_reduce
NAMED_METHODS = {"slice": slice_of}
