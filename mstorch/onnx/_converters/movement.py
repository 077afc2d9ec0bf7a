"""Reshaping, slicing, joining and creating tensors."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._src.backend.varying import Size
from ..._src.core.dtype import bool_, float32
from .._capture import Step, Value
from .._writer import Writer, word
from .table import converter, fixed, wrapped

_END = 2**63 - 1


def reshaped(w: Writer, x: str, sizes: Sequence[Any]) -> str:
    """Return a tensor in another shape."""
    return w.op("Reshape", x, w.sizes(sizes), allowzero=1 if 0 in sizes and w.opset >= 14 else None)


def sizes_of(step: Step) -> list[Any]:
    """Return the shape of a step's result."""
    return list(step.results[0].shape)


@converter("view", "_unsafe_view")
def _view(w: Writer, step: Step, self: Value, size: Any = None, shape: Any = None) -> str:
    return reshaped(w, w.t(self), size if size is not None else shape)


@converter("permute")
def _permute(w: Writer, step: Step, self: Value, dims: Sequence[int]) -> str:
    return w.op("Transpose", w.t(self), perm=[wrapped(dim, len(self.shape)) for dim in dims])


@converter("transpose", "t")
def _transpose(w: Writer, step: Step, self: Value, dim0: int = 0, dim1: int = 1) -> str:
    order = list(range(len(self.shape)))
    if len(order) < 2:
        return w.t(self)
    first, second = wrapped(dim0, len(order)), wrapped(dim1, len(order))
    order[first], order[second] = order[second], order[first]
    return w.op("Transpose", w.t(self), perm=order)


@converter("unsqueeze")
def _unsqueeze(w: Writer, step: Step, self: Value, dim: int) -> str:
    return w.op("Unsqueeze", w.t(self), w.ints([wrapped(dim, len(self.shape) + 1)]))


@converter("squeeze")
def _squeeze(w: Writer, step: Step, self: Value, dim: Any = None) -> str:
    rank = len(self.shape)
    chosen = range(rank) if dim is None else [wrapped(one, rank) for one in (dim if isinstance(dim, (list, tuple)) else [dim])]
    gone = [one for one in chosen if rank and self.shape[one] == 1]
    return w.op("Squeeze", w.t(self), w.ints(gone)) if gone else w.t(self)


@converter("expand")
def _expand(w: Writer, step: Step, self: Value, size: Sequence[Any], implicit: bool = False) -> str:
    return w.op("Expand", w.t(self), w.sizes([1 if not isinstance(one, Size) and one == -1 else one for one in size]))


@converter("repeat")
def _repeat(w: Writer, step: Step, self: Value, repeats: Sequence[Any]) -> str:
    x = w.t(self)
    more = len(repeats) - len(self.shape)
    if more:
        x = w.op("Unsqueeze", x, w.ints(range(more)))
    return w.op("Tile", x, w.sizes(repeats))


@converter("slice")
def _slice(w: Writer, step: Step, self: Value, dim: int = 0, start: Any = None, end: Any = None, step_: Any = 1) -> str:
    ends = _END if end is None else end
    first = w.size(0 if start is None else start)
    return w.op("Slice", w.t(self), first, w.size(ends), w.ints([wrapped(dim, len(self.shape))]), w.size(step_))


@converter("select")
def _select(w: Writer, step: Step, self: Value, dim: int, index: Any) -> str:
    place = w.op("Squeeze", w.size(index), w.ints([0])) if isinstance(index, Size) else w.const(np.int64(index))
    return w.op("Gather", w.t(self), place, axis=wrapped(dim, len(self.shape)))


@converter("split", "split_with_sizes", "unbind")
def _split(w: Writer, step: Step, self: Value, dim: int = 0, **_: Any) -> Any:
    axis, count = wrapped(dim, len(self.shape)), len(step.results)
    if step.name == "unbind":
        parts = _parts(w, w.t(self), axis, [1] * count)
        return [w.op("Squeeze", part, w.ints([axis])) for part in parts]
    return _parts(w, w.t(self), axis, [value.shape[axis] for value in step.results])


def _parts(w: Writer, x: str, axis: int, sizes: Sequence[Any]) -> list[str]:
    if len(sizes) == 1:
        return [w.op("Identity", x)]
    return w.op("Split", x, w.sizes(sizes), axis=axis, results=len(sizes))


@converter("cat")
def _cat(w: Writer, step: Step, tensors: Sequence[Value], dim: int = 0) -> str:
    out = step.results[0]
    kept = [one for one in tensors if one.shape != (0,)] or list(tensors[:1])
    return w.op("Concat", *(w.operand(one, out.dtype) for one in kept), axis=wrapped(dim, len(out.shape)))


@converter("stack")
def _stack(w: Writer, step: Step, tensors: Sequence[Value], dim: int = 0) -> str:
    out = step.results[0]
    axis = wrapped(dim, len(out.shape))
    return w.op("Concat", *(w.op("Unsqueeze", w.operand(one, out.dtype), w.ints([axis])) for one in tensors), axis=axis)


@converter("flip")
def _flip(w: Writer, step: Step, self: Value, dims: Sequence[int]) -> str:
    axes = [wrapped(dim, len(self.shape)) for dim in dims]
    back, ends = w.ints([-1] * len(axes)), w.ints([-_END] * len(axes))
    return w.op("Slice", w.t(self), back, ends, w.ints(axes), back) if axes else w.t(self)


@converter("roll")
def _roll(w: Writer, step: Step, self: Value, shifts: Sequence[Any], dims: Sequence[int] = ()) -> str:
    x, rank = w.t(self), len(self.shape)
    if not dims:
        whole = w.op("Shape", x)
        return w.op("Reshape", _rolled(w, w.op("Reshape", x, w.ints([-1])), shifts[0], 0), whole)
    for shift, dim in zip(shifts, dims):
        x = _rolled(w, x, shift, wrapped(dim, rank))
    return x


def _rolled(w: Writer, x: str, shift: Any, axis: int) -> str:
    back = w.op("Neg", w.size(shift)) if isinstance(shift, Size) else w.ints([-shift])
    axes = w.ints([axis])
    return w.op("Concat", w.op("Slice", x, back, w.ints([_END]), axes), w.op("Slice", x, w.ints([0]), back, axes), axis=axis)


@converter("constant_pad_nd")
def _pad(w: Writer, step: Step, self: Value, pad: Sequence[Any], value: Any = 0) -> str:
    return w.op("Pad", w.t(self), w.sizes(_pairs(pad, len(self.shape))), w.number(value, self.dtype), mode="constant")


@converter("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d")
def _mirrored(w: Writer, step: Step, self: Value, padding: Sequence[Any]) -> str:
    mode = "reflect" if step.name.startswith("reflection") else "edge"
    return w.op("Pad", w.t(self), w.sizes(_pairs(padding, len(self.shape))), mode=mode)


def _pairs(pad: Sequence[Any], rank: int) -> list[Any]:
    """Convert torch's padding pairs, which start at the last dimension, to ONNX's order: all begins, then all ends."""
    pairs = [(pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    full = [(0, 0)] * (rank - len(pairs)) + pairs[::-1]
    return [one[0] for one in full] + [one[1] for one in full]


@converter("zeros", "ones", "full", "new_zeros", "new_ones", "new_full", "empty", "new_empty", "scalar_tensor")
def _filled(w: Writer, step: Step, size: Sequence[Any] = (), fill_value: Any = 0, s: Any = None, **_: Any) -> str:
    out = step.results[0]
    if step.name == "scalar_tensor":
        return w.number(s, out.dtype)
    value = 1 if "ones" in step.name else fill_value
    return w.op("Expand", w.number(value, out.dtype), w.sizes(size) if size else w.const(np.zeros(0, np.int64)))


@converter("zeros_like", "ones_like", "full_like", "empty_like")
def _like(w: Writer, step: Step, self: Value, fill_value: Any = 0, **_: Any) -> str:
    value = 1 if "ones" in step.name else fill_value
    return w.op("Expand", w.number(value, step.results[0].dtype), w.op("Shape", w.t(self)))


@converter("arange")
def _arange(w: Writer, step: Step, end: Any, start: Any = 0, step_: Any = 1, **_: Any) -> str:
    dtype = step.results[0].dtype
    within = dtype if word(dtype) in ("float32", "int64", "int32", "float64") else float32
    found = w.op("Range", w.number(start, within), w.number(end, within), w.number(step_, within))
    return w.cast(found, within, dtype)


@converter("tril", "triu")
def _tri(w: Writer, step: Step, self: Value, diagonal: int = 0) -> str:
    x = w.t(self)
    if w.opset >= 14 and self.dtype is not bool_:
        return w.op("Trilu", x, w.const(np.int64(diagonal)), upper=int(step.name == "triu"))
    rows, columns = (w.op("Squeeze", w.size(size), w.ints([0])) for size in sizes_of(step)[-2:])
    zero, one = w.const(np.int64(0)), w.const(np.int64(1))
    down = w.op("Unsqueeze", w.op("Range", zero, rows, one), w.ints([1]))
    across = w.op("Sub", w.op("Range", zero, columns, one), w.const(np.int64(diagonal)))
    keep = w.op("LessOrEqual" if step.name == "tril" else "GreaterOrEqual", across, down)
    return w.op("Where", keep, x, w.like(0, self))


@converter("pixel_shuffle", "pixel_unshuffle")
def _pixel_shuffle(w: Writer, step: Step, self: Value, upscale_factor: int = 1, downscale_factor: int = 1) -> str:
    if step.name == "pixel_shuffle":
        return w.op("DepthToSpace", w.t(self), blocksize=fixed(upscale_factor, "a factor"), mode="CRD")
    batch, channels, height, width = (step.results[0].shape if len(self.shape) == 4 else (1, *step.results[0].shape))
    factor = fixed(downscale_factor, "a factor")
    parts = reshaped(w, w.t(self), [batch, self.shape[-3], height, factor, width, factor])
    return reshaped(w, w.op("Transpose", parts, perm=[0, 1, 3, 5, 2, 4]), [batch, channels, height, width])


@converter("reversed_view")
def _reversed_view(w: Writer, step: Step, self: Value, view: str, like: Value, **more: Any) -> str:
    if view == "permute":
        return w.op("Transpose", w.t(self), perm=[int(one) for one in np.argsort([wrapped(dim, len(self.shape)) for dim in more["dims"]])])
    if view in ("transpose", "t"):
        return _transpose(w, step, self, more.get("dim0", 0), more.get("dim1", 1))
    return reshaped(w, w.t(self), like.shape)


@converter("slice_scatter", "select_scatter")
def _scattered(
    w: Writer, step: Step, self: Value, src: Value, dim: int = 0, index: Any = None, start: Any = None, end: Any = None, step_: Any = 1
) -> str:
    """Replace a slice of a tensor: its indices by Range, its values by ScatterND along the first dimension."""
    rank = len(self.shape)
    axis = wrapped(dim, rank)
    part = w.t(src) if step.name == "slice_scatter" else w.op("Unsqueeze", w.t(src), w.ints([axis]))
    length = w.op("Gather", w.op("Shape", w.t(self)), w.ints([axis]))
    every = w.op("Range", w.const(np.int64(0)), w.op("Squeeze", length), w.const(np.int64(1)))
    if step.name == "slice_scatter":
        first, last = w.size(0 if start is None else start), w.size(_END if end is None else end)
        places = w.op("Slice", every, first, last, w.ints([0]), w.size(step_))
    else:
        places = w.op("Unsqueeze", w.op("Gather", every, w.const(np.int64(fixed(index, "an index")))), w.ints([0]))
    order = [axis, *(one for one in range(rank) if one != axis)]
    moved = w.op("Transpose", w.t(self), perm=order) if axis else w.t(self)
    updates = w.op("Transpose", part, perm=order) if axis else part
    found = w.op("ScatterND", moved, w.op("Unsqueeze", places, w.ints([1])), updates)
    return w.op("Transpose", found, perm=[int(one) for one in np.argsort(order)]) if axis else found


