"""Attaches methods (``_src/ops/_public.py``), operators and properties to class Tensor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .backend.arrays import Number
from .backend.raw import Raw
from .core.tensor_base import TensorBase
from .ops._dispatch import is_number
from .ops._in_place import in_place_form
from .ops._public import families, methods
from .ops.elementwise import elementwise
from .ops.memory import copying
from .ops.memory.from_data import from_numpy
from .tape import border
from .tape.apply import apply_pair


def _operand(value: TensorBase | Number) -> bool:
    return isinstance(value, TensorBase) or is_number(value)


def _tensor_of_mindspore(value: Raw, beside: Any) -> Any:
    """Return a tensor for an operand that is a mindspore.Tensor, which keeps its gradient and moves to the other operand's device."""
    return copying.to(border.from_mindspore(value), beside.device)


def _equal_to_array(function: Callable[..., Any], tensor: Any, other: Any) -> Any:
    """Return the comparison of a tensor with a NumPy array, which torch converts to a tensor; NotImplemented for other values."""
    if not isinstance(other, np.ndarray) or other.dtype.kind not in "biufc":
        return NotImplemented
    return function(tensor, from_numpy(other))


def _divided(tensor: Any, other: Any) -> Any:
    """Return ``array / tensor`` as ``reciprocal(tensor) * array``, as torch does; NotImplemented if ``other`` is not a numeric array."""
    if not isinstance(other, np.ndarray):
        return NotImplemented
    try:
        return elementwise.reciprocal(tensor) * other
    except TypeError:  # an array of text
        return NotImplemented


def _is_tensor(value: Any) -> bool:
    return isinstance(value, TensorBase)


def _operator(function: Callable[..., Any], name: str, reflected: bool = False) -> Callable[..., Any]:
    """Return a binary operator that returns NotImplemented for operands that are neither tensors nor numbers."""
    function = getattr(function, "without_forms", function)  # an operator has one form
    equal, divided = name == "__eq__", name in ("__rtruediv__", "__rdiv__")
    operand = _is_tensor if name in ("__matmul__", "__rmatmul__") else _operand  # numbers have no product of matrices

    def forward(self: TensorBase, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return function(self, other)
        if operand(other):
            return function(self, other)
        if isinstance(other, Raw):
            return function(self, _tensor_of_mindspore(other, self))
        return _equal_to_array(function, self, other) if equal else NotImplemented

    def backward(self: TensorBase, other: Any) -> Any:
        if operand(other):
            return function(other, self)
        if isinstance(other, Raw):
            return function(_tensor_of_mindspore(other, self), self)
        return _divided(self, other) if divided else NotImplemented

    method = backward if reflected else forward
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.of_two = True  # type: ignore[attr-defined]
    pair = elementwise.PAIRS.get(name.strip("_"))
    if pair is not None:
        method.direct = apply_pair, pair  # type: ignore[attr-defined]
    return method


def _in_place_operator(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def method(self: TensorBase, other: TensorBase | Number) -> TensorBase:
        if not _operand(other):
            return NotImplemented
        return form(self, other)

    form = in_place_form(function, name)
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    return method


def attach(cls: type) -> frozenset[str]:
    """Set the methods on the class, and return their names; methods defined in the class itself are kept."""
    own = set(cls.__dict__)

    def give(name: str, value: Any) -> None:
        if name not in own:
            setattr(cls, name, value)

    given = {name: function for name, function in methods().items() if name not in own}
    for name, function in given.items():
        setattr(cls, name, function)
    for family in families():
        for name, function in getattr(family, "OPERATORS", {}).items():
            give(f"__{name}__", _operator(function, f"__{name}__"))
        for name, function in getattr(family, "REFLECTED", {}).items():
            give(f"__r{name}__", _operator(function, f"__r{name}__", reflected=True))
        for name, function in getattr(family, "IN_PLACE_OPERATORS", {}).items():
            give(f"__i{name}__", _in_place_operator(function, f"__i{name}__"))
        for name, function in getattr(family, "UNARY_OPERATORS", {}).items():
            give(f"__{name}__", function)
        for name, function in getattr(family, "PROPERTIES", {}).items():
            give(name, function if isinstance(function, property) else property(function))
    return frozenset(given)
