"""Reductions, softmax and cumulative sums."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._src.core.dtype import bool_, int32
from .._capture import Step, Value
from .._errors import OnnxExporterError
from .._writer import NUMBERS, Writer
from .table import converter, dims_of, wrapped


def reduced(w: Writer, kind: str, x: str, dims: Sequence[int], keepdim: bool) -> str:
    """Return a reduction over dimensions, which are an input or an attribute depending on the opset."""
    since = {"ReduceSum": 13}.get(kind, 18)
    if w.opset >= since:
        return w.op(kind, x, w.ints(dims), keepdims=int(keepdim))
    return w.op(kind, x, axes=list(dims), keepdims=int(keepdim))


@converter("mean", "sum", "amax", "amin", "prod")
def _reduce(w: Writer, step: Step, self: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> str:
    kinds = {"mean": "ReduceMean", "sum": "ReduceSum", "amax": "ReduceMax", "amin": "ReduceMin", "prod": "ReduceProd"}
    x = w.operand(self, step.results[0].dtype)
    return x if not self.shape else reduced(w, kinds[step.name], x, dims_of(dim, len(self.shape)), keepdim)


@converter("any", "all")
def _any(w: Writer, step: Step, self: Value, dim: Any = None, keepdim: bool = False) -> str:
    x = w.op("Cast", w.operand(self, bool_), to=NUMBERS["int32"])
    found = reduced(w, "ReduceMax" if step.name == "any" else "ReduceMin", x, dims_of(dim, len(self.shape)), keepdim)
    return w.cast(found, int32, bool_)


@converter("var", "std", "var_mean", "std_mean")
def _var(
    w: Writer, step: Step, self: Value, dim: Any = None, unbiased: bool = True, correction: Any = None, keepdim: bool = False
) -> Any:
    dims = dims_of(dim, len(self.shape))
    less = int(unbiased) if correction is None else int(correction)
    x = w.t(self)
    mean = reduced(w, "ReduceMean", x, dims, True)
    far = w.op("Sub", x, mean)
    total = reduced(w, "ReduceSum", w.op("Mul", far, far), dims, keepdim)
    count = w.op("Cast", w.op("ReduceProd", w.op("Gather", w.op("Shape", x), w.ints(dims)), keepdims=0), to=NUMBERS["float32"])
    count = w.op("CastLike", w.op("Sub", count, w.const(np.float32(less))), x)
    found = w.op("Div", total, count)
    found = w.op("Sqrt", found) if step.name.startswith("std") else found
    if not step.name.endswith("_mean"):
        return found
    return [found, mean if keepdim else w.op("Squeeze", mean, w.ints(dims))]


@converter("max", "min")
def _max(w: Writer, step: Step, self: Value, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    if other is not None:
        return w.op(step.name.capitalize(), w.t(self), w.t(other))
    kind = "ReduceMax" if step.name == "max" else "ReduceMin"
    if dim is None:
        return reduced(w, kind, w.t(self), range(len(self.shape)), False)
    axis = wrapped(dim, len(self.shape))
    best = w.op("ArgMax" if step.name == "max" else "ArgMin", w.t(self), axis=axis, keepdims=int(keepdim))
    return [reduced(w, kind, w.t(self), [axis], keepdim), best]


@converter("argmax", "argmin")
def _argmax(w: Writer, step: Step, self: Value, dim: Any = None, keepdim: bool = False) -> str:
    kind = "ArgMax" if step.name == "argmax" else "ArgMin"
    if dim is None:
        return w.op(kind, w.op("Reshape", w.t(self), w.ints([-1])), axis=0, keepdims=0)
    return w.op(kind, w.t(self), axis=wrapped(dim, len(self.shape)), keepdims=int(keepdim))


@converter("_softmax", "_log_softmax", "_safe_softmax")
def _softmax(w: Writer, step: Step, self: Value, dim: int, **_: Any) -> str:
    kind = "LogSoftmax" if "log" in step.name else "Softmax"
    return w.op(kind, w.operand(self, step.results[0].dtype), axis=wrapped(dim, len(self.shape)))


@converter("logsumexp")
def _logsumexp(w: Writer, step: Step, self: Value, dim: Any, keepdim: bool = False) -> str:
    return reduced(w, "ReduceLogSumExp", w.t(self), dims_of(dim, len(self.shape)), keepdim)


@converter("cumsum")
def _cumsum(w: Writer, step: Step, self: Value, dim: int, **_: Any) -> str:
    return w.op("CumSum", w.operand(self, step.results[0].dtype), w.const(np.int64(wrapped(dim, len(self.shape)))))


@converter("linalg_vector_norm", "norm")
def _norm(w: Writer, step: Step, self: Value, ord: Any = 2, p: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> str:
    power = ord if step.name == "linalg_vector_norm" else p
    if power not in (1, 2):
        raise OnnxExporterError("mstorch: torch.onnx.export has norms of order 1 and 2")
    return reduced(w, f"ReduceL{int(power)}", w.t(self), dims_of(dim, len(self.shape)), keepdim)


@converter("normalize")
def _normalize(w: Writer, step: Step, self: Value, p: float = 2, dim: int = 1, eps: float = 1e-12, **_: Any) -> str:
    if p not in (1, 2):
        raise OnnxExporterError("mstorch: torch.onnx.export has norms of order 1 and 2")
    size = reduced(w, f"ReduceL{int(p)}", w.t(self), [wrapped(dim, len(self.shape))], True)
    return w.op("Div", w.t(self), w.op("Max", size, w.like(eps, self)))


@converter("topk")
def _topk(w: Writer, step: Step, self: Value, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    axis = wrapped(dim, len(self.shape))
    return w.op("TopK", w.t(self), w.size(k), axis=axis, largest=int(largest), sorted=int(sorted), results=2)


@converter("sort")
def _sort(w: Writer, step: Step, self: Value, dim: int = -1, descending: bool = False, **_: Any) -> Any:
    axis = wrapped(dim, len(self.shape))
    count = w.op("Gather", w.op("Shape", w.t(self)), w.ints([axis]))
    return w.op("TopK", w.t(self), count, axis=axis, largest=int(descending), sorted=1, results=2)

