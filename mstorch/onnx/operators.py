"""torch.onnx.operators: operations that stay operations in an exported model."""
from __future__ import annotations

from typing import Any

from .._namespace.checks import _shape_as_tensor


def shape_as_tensor(x: Any) -> Any:
    """Return the shape as a tensor of int64."""
    return _shape_as_tensor(x)


def reshape_from_tensor_shape(x: Any, shape: Any) -> Any:
    """Return a tensor in the shape that another one holds."""
    return x.reshape(shape.tolist())


__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]
