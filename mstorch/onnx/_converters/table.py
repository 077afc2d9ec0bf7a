"""The table of converters, and their helpers."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._src.backend.varying import Size
from ..._src.core.dtype import dtype as torch_dtype
from ..._src.ops.elementwise.compare import result_type
from ..._src.ops.memory.creation import empty
from .._capture import Value
from .._errors import OnnxExporterError

Converter = Callable[..., Any]
CONVERTERS: dict[str, Converter] = {}


def converter(*names: str) -> Callable[[Converter], Converter]:
    """Return a decorator that registers a converter for operators of these names."""

    def enter(function: Converter) -> Converter:
        for name in names:
            CONVERTERS[name] = function
        return function

    return enter


def wrapped(dim: int, rank: int) -> int:
    """Return a nonnegative dimension."""
    return dim % rank if rank else 0


def dims_of(dim: Any, rank: int) -> list[int]:
    """Return the nonnegative dimensions of a reduction; None and an empty list mean all."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(rank))
    return [wrapped(one, rank) for one in (dim if isinstance(dim, (list, tuple)) else [dim])]


def fixed(value: Any, what: str) -> int:
    """Return a number that ONNX requires as an attribute. Raise OnnxExporterError if it depends on a dynamic size."""
    if isinstance(value, Size):
        raise OnnxExporterError(f"mstorch: torch.onnx.export cannot let {what} depend on a size that varies")
    return int(value)


def common(first: Any, second: Any) -> torch_dtype:
    """Return the promoted dtype of two operands, tensors or numbers."""
    return result_type(_small(first), _small(second))


def _small(operand: Any) -> Any:
    if isinstance(operand, Value):
        return empty((1,) * min(len(operand.shape), 1), dtype=operand.dtype)
    return operand.values[0] if isinstance(operand, Size) else operand
