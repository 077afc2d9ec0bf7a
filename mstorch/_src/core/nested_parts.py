"""Nested tensors as autograd sees them: operations are tracked on the tensor that holds the elements of all components."""
from __future__ import annotations

from typing import Any

from .tensor_base import TensorBase


def is_nested(value: Any) -> bool:
    """Return True if the value is a nested tensor, strided or jagged."""
    return isinstance(value, TensorBase) and getattr(value, "_ms_nested", False)


def nested_in(*values: Any) -> bool:
    """Return True if one of the values, or an item of a list or tuple among them, is a nested tensor."""
    for value in values:
        if isinstance(value, (list, tuple)) and nested_in(*value):
            return True
        if is_nested(value):
            return True
    return False


def kept(value: Any) -> Any:
    """Return the tensor that holds a nested tensor's elements, also for nested tensors inside lists and tuples; any other value unchanged.
    """
    if is_nested(value):
        return value._values
    return tuple(map(kept, value)) if isinstance(value, (list, tuple)) else value


def kept_gradients(roots: Any, gradients: Any) -> tuple[TensorBase | None, ...]:
    """Return the gradients for roots; for nested roots, as tensors of the elements of all components. Raise RuntimeError if the structure
    differs.
    """
    if isinstance(roots, TensorBase):
        roots = (roots,)
    if gradients is None or isinstance(gradients, TensorBase):
        gradients = (gradients,)
    return tuple(_kept_gradient(number, root, gradient) for number, (root, gradient) in enumerate(zip(roots, gradients)))


def _kept_gradient(number: int, root: Any, gradient: TensorBase | None) -> TensorBase | None:
    if gradient is None or is_nested(root) is is_nested(gradient) is False:
        return gradient
    if not is_nested(root) or not is_nested(gradient) or not root.is_same_size(gradient):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{number}] has a shape of {_shown(gradient)} and output[{number}] has a shape of "
            f"{_shown(root)}."
        )
    return root._seed(gradient)


def _shown(tensor: Any) -> Any:
    return tensor._nested_tensor_size() if is_nested(tensor) and hasattr(tensor, "_sizes") else tensor.shape


def like_nested(tensor: Any, values: TensorBase | None) -> Any:
    """Return values as a nested tensor with the structure of ``tensor`` if that is nested, else unchanged."""
    return tensor._like(values) if is_nested(tensor) and values is not None else values
