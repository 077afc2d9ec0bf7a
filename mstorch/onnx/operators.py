"""torch.onnx.operators: shape functions that remain operations in an exported model."""
from __future__ import annotations

from typing import Any

from .._src.namespace.checks import _shape_as_tensor


def shape_as_tensor(x: Any) -> Any:
    """Return the shape as an int64 tensor."""
    return _shape_as_tensor(x)


def reshape_from_tensor_shape(x: Any, shape: Any) -> Any:
    """Return ``x`` reshaped to the sizes in a tensor."""
    return x.reshape(shape.tolist())


__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]
