"""Reading and writing at indices."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._src.core.dtype import bool_, int64
from .._capture import Step, Value
from .._errors import OnnxExporterError
from .._writer import Writer
from .table import converter, wrapped


@converter("embedding")
def _embedding(w: Writer, step: Step, weight: Value, indices: Value, **_: Any) -> str:
    return w.op("Gather", w.t(weight), w.t(indices))


@converter("index_select")
def _index_select(w: Writer, step: Step, self: Value, dim: int, index: Value) -> str:
    return w.op("Gather", w.t(self), w.t(index), axis=wrapped(dim, len(self.shape)))


@converter("gather")
def _gather(w: Writer, step: Step, self: Value, dim: int, index: Value, **_: Any) -> str:
    return w.op("GatherElements", w.t(self), w.t(index), axis=wrapped(dim, len(self.shape)))


@converter("scatter", "scatter_add")
def _scatter(w: Writer, step: Step, self: Value, dim: int, index: Value, src: Any = None, value: Any = None, **_: Any) -> str:
    if step.name == "scatter_add" and w.opset < 16:
        raise OnnxExporterError("mstorch: scatter_add takes opset 16")
    updates = w.t(src) if src is not None else w.op("Expand", w.number(value, self.dtype), w.op("Shape", w.t(index)))
    reduction = "add" if step.name == "scatter_add" else None
    return w.op("ScatterElements", w.t(self), w.t(index), updates, axis=wrapped(dim, len(self.shape)), reduction=reduction)


@converter("index")
def _index(w: Writer, step: Step, self: Value, indices: Sequence[Value | None]) -> str:
    """Index: ``x[i]``, ``x[:, i]`` by Gather; several adjacent indices by GatherND, with their dimensions moved to the front."""
    given = [(dim, one) for dim, one in enumerate(indices) if one is not None]
    if any(one.dtype is bool_ for _, one in given):
        if len(given) == 1 and given[0][0] == 0:
            return w.op("GatherND", w.t(self), w.op("Transpose", w.op("NonZero", w.t(given[0][1])), perm=[1, 0]))
        raise OnnxExporterError("mstorch: torch.onnx.export has masks that index the first dimensions alone")
    if len(given) == 1:
        return w.op("Gather", w.t(self), w.operand(given[0][1], int64), axis=given[0][0])
    dims = [dim for dim, _ in given]
    rank = len(self.shape)
    rest = [dim for dim in range(rank) if dim not in dims]
    moved = w.op("Transpose", w.t(self), perm=[*dims, *rest]) if [*dims, *rest] != list(range(rank)) else w.t(self)
    lengths = [w.op("Gather", w.op("Shape", w.t(self)), w.const(np.int64(dim))) for dim in dims]
    places = [_positive(w, w.operand(one, int64), length) for (_, one), length in zip(given, lengths)]
    shape = w.op("Shape", places[0])
    for place in places[1:]:
        shape = w.op("Shape", w.op("Expand", place, shape))
    spread = [w.op("Unsqueeze", w.op("Expand", place, shape), w.ints([-1])) for place in places]
    found = w.op("GatherND", moved, w.op("Concat", *spread, axis=-1))
    beside = dims == list(range(dims[0], dims[0] + len(dims)))
    count = max(len(one.shape) for _, one in given)
    if not beside or dims[0] == 0:
        return found
    before = dims[0]  # the result's index dimensions are where the indexed ones were
    order = [*range(count, count + before), *range(count), *range(count + before, count + len(rest))]
    return w.op("Transpose", found, perm=order)


def _positive(w: Writer, index: str, length: str) -> str:
    return w.op("Where", w.op("Less", index, w.const(np.int64(0))), w.op("Add", index, length), index)


@converter("index_put")
def _index_put(w: Writer, step: Step, self: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False) -> str:
    given = [one for one in indices if one is not None]
    if len(given) == 1 and given[0].dtype is bool_ and indices[0] is given[0] and len(values.shape) == 0:
        mask = w.t(given[0])
        for _ in range(len(self.shape) - len(given[0].shape)):
            mask = w.op("Unsqueeze", mask, w.ints([-1]))
        return w.op("Where", mask, w.operand(values, self.dtype), w.t(self))
    if len(given) != len(indices) or any(one.dtype is bool_ for one in given):
        raise OnnxExporterError("mstorch: torch.onnx.export writes at indices of the first dimensions alone")
    if accumulate and w.opset < 16:
        raise OnnxExporterError("mstorch: index_put with accumulate=True takes opset 16")
    shape = w.op("Shape", w.t(given[0]))
    for one in given[1:]:
        shape = w.op("Shape", w.op("Expand", w.t(one), shape))
    spread = [w.op("Unsqueeze", w.op("Expand", w.operand(one, int64), shape), w.ints([-1])) for one in given]
    rest = w.op("Slice", w.op("Shape", w.t(self)), w.ints([len(given)]), w.ints([len(self.shape)]))
    updates = w.op("Expand", w.operand(values, self.dtype), w.op("Concat", shape, rest, axis=0))
    return w.op("ScatterND", w.t(self), w.op("Concat", *spread, axis=-1), updates, reduction="add" if accumulate else None)


@converter("nonzero")
def _nonzero(w: Writer, step: Step, self: Value) -> str:
    return w.op("Transpose", w.op("NonZero", w.t(self)), perm=[1, 0])


@converter("one_hot")
def _one_hot(w: Writer, step: Step, self: Value, num_classes: int = -1) -> str:
    return w.op("OneHot", w.t(self), w.const(np.int64(num_classes)), w.ints([0, 1]))
