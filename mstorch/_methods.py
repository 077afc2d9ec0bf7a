"""Attaches methods (``_ops/_public.py``), operators and properties to class Tensor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._backend.arrays import Array, Number
from ._backend.raw import Raw
from ._core.tensor_base import TensorBase
from ._ops._dispatch import is_number
from ._ops._in_place import in_place_form
from ._ops._public import families, methods
from ._ops.elementwise import elementwise
from ._ops.indexing._values_put import views_tensor
from ._ops.memory import copying
from ._tape import border
from ._tape.apply import apply_pair


def _operand(value: TensorBase | Number) -> bool:
    return isinstance(value, TensorBase) or is_number(value)


def _array_operand(value: Array | Raw, beside: TensorBase) -> TensorBase:
    """Convert an operand that is a NumPy array to a tensor. A mindspore.Tensor keeps its gradient and moves to the other operand's device.
    """
    if isinstance(value, Raw):
        return copying.to(border.from_mindspore(value), beside.device)
    return views_tensor(np.asarray(value))


def _operator(function: Callable[..., Any], name: str, reflected: bool = False) -> Callable[..., Any]:
    """Return a binary operator that returns NotImplemented for operands that are not numbers."""
    function = getattr(function, "without_forms", function)  # an operator has one form

    def forward(self: TensorBase, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return function(self, other)
        if is_number(other):
            return function(self, other)
        return function(self, _array_operand(other, self)) if hasattr(other, "__array__") else NotImplemented

    def backward(self: TensorBase, other: Any) -> Any:
        if _operand(other):
            return function(other, self)
        return function(_array_operand(other, self), self) if hasattr(other, "__array__") else NotImplemented

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
