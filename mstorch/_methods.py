"""Gives class Tensor its methods: every op named in a family's METHODS, in-place forms from IN_PLACE, operators."""
from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ._backend.raw import Raw
from ._core.tensor_base import TensorBase
from ._ops import (
    activation,
    bitwise,
    compare,
    complex_views,
    contract,
    copying,
    count,
    elementwise,
    index,
    join,
    linalg_torch,
    lowrank,
    math,
    matmul,
    measure,
    memory,
    method_forms,
    new_tensors,
    positions,
    random,
    reduce,
    resizing,
    sampling,
    scan,
    scatter,
    shape,
    softmax,
    sort,
    special,
    spectral,
    views,
)  # fmt: skip
from ._ops._dispatch import is_number
from ._ops._in_place import in_place_form
from ._ops._values_put import views_tensor
from ._tape import border
from ._tape.apply import apply_pair

# The families that name methods of Tensor, in METHODS, ALIASES, IN_PLACE, OPERATORS and the like.
FAMILIES: tuple[ModuleType, ...] = (
    activation, bitwise, compare, complex_views, contract, copying, count, elementwise, index, join,
    linalg_torch, lowrank, math, matmul, measure, memory, new_tensors, positions, random, reduce, resizing, sampling, scan,
    scatter, shape, softmax, sort, special, spectral, views,
    method_forms,  # what comes later stands
)  # fmt: skip


def _operand(value: Any) -> bool:
    return isinstance(value, TensorBase) or is_number(value)


def _array_operand(value: Any, beside: Any) -> Any:
    """A NumPy array beside a tensor, as a tensor; a mindspore.Tensor with its history, on the other's device."""
    if isinstance(value, Raw):
        return copying.to(border.from_mindspore(value), beside.device)
    return views_tensor(np.asarray(value))


def _operator(function: Callable[..., Any], name: str, reflected: bool = False) -> Callable[..., Any]:
    """A binary operator that leaves operands which are not numbers to their own class."""
    function = getattr(function, "without_forms", function)  # an operator has one form

    def forward(self: Any, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return function(self, other)
        if is_number(other):
            return function(self, other)
        return function(self, _array_operand(other, self)) if hasattr(other, "__array__") else NotImplemented

    def backward(self: Any, other: Any) -> Any:
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
    def method(self: Any, other: Any) -> Any:
        if not _operand(other):
            return NotImplemented
        return form(self, other)

    form = in_place_form(function, name)
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    return method


def attach(cls: type) -> None:
    """Set the generated methods on the class; a method written in the class itself stays."""
    own = set(cls.__dict__)

    def give(name: str, value: Any) -> None:
        if name not in own:
            setattr(cls, name, value)

    for family in FAMILIES:
        for name in family.METHODS:
            give(name, getattr(family, name))
        for name, function in getattr(family, "NAMED_METHODS", {}).items():
            give(name, function)
        for name in getattr(family, "IN_PLACE", ()):
            recorded = name not in getattr(family, "WITHOUT_GRADIENT", ())
            give(f"{name}_", in_place_form(getattr(family, name), f"{name}_", recorded=recorded))
        for name, function in getattr(family, "OPERATORS", {}).items():
            give(f"__{name}__", _operator(function, f"__{name}__"))
        for name, function in getattr(family, "REFLECTED", {}).items():
            give(f"__r{name}__", _operator(function, f"__r{name}__", reflected=True))
        for name, function in getattr(family, "IN_PLACE_OPERATORS", {}).items():
            give(f"__i{name}__", _in_place_operator(function, f"__i{name}__"))
        for name, function in getattr(family, "UNARY_OPERATORS", {}).items():
            give(f"__{name}__", function)
        for name, function in getattr(family, "PROPERTIES", {}).items():
            give(name, property(function))
