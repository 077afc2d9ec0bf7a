"""Arguments as users write them: the same value as another object (a number of NumPy, a member of an ``IntEnum``, a 0-d tensor, a list in
place of a tuple, a named tuple, an iterator, Python's types for dtypes), and then objects of the same classes with contents that torch
refuses. mstorch takes every call that torch takes, with torch's result, before and after refused ones, and refuses what torch refuses.

    python -m tests.loose_arguments                  # all operators of torch's database and all forms of its stubs (about ten minutes)
    python -m tests.loose_arguments -k TEXT -v       # operators whose name contains the text; each call that differs

``tests/ops/calls/test_loose_arguments.py`` runs a part of it in the suite.
"""
from __future__ import annotations

import collections
import enum
import fractions
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from tests import argument_kinds
from tests.argument_kinds import Call, Later


class _Int(int):
    pass


class _Float(float):
    pass


class _List(list):
    pass


class _Tuple(tuple):
    __slots__ = ()


class _Text(str):
    __slots__ = ()


class _Index:
    """An object that is a whole number to Python by its ``__index__`` only."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


class _Real:
    """An object that is a number to Python by its ``__float__`` only."""

    def __init__(self, number: float) -> None:
        self.number = number

    def __float__(self) -> float:
        return self.number


def _member(number: int) -> enum.IntEnum:
    return enum.IntEnum("Choice", {"that": number}).that


def _named(items: Any) -> Any:
    return collections.namedtuple("Named", [f"item{place}" for place, _ in enumerate(items)])(*items)


def _of_an_int(value: int) -> Iterator[tuple[str, Any]]:
    yield "np.int64", np.int64(value)
    yield "np.int32", np.int32(value)
    yield "IntEnum", _member(value)
    yield "subclass of int", _Int(value)
    yield "__index__", _Index(value)
    yield "float", float(value)
    yield "np.float64", np.float64(value)
    yield "np.float32", np.float32(value)
    yield "tensor", torch.tensor(value)
    yield "int32 tensor", torch.tensor(value, dtype=torch.int32)
    yield "tensor of [1]", torch.tensor([value])
    yield "float tensor", torch.tensor(float(value))
    yield "array", np.array(value)
    yield "array of [1]", np.array([value])
    yield "list", [value]
    yield "tuple", (value,)
    yield "Size", torch.Size((value,))
    yield "complex", complex(value)
    yield "Fraction", fractions.Fraction(value)
    yield "tensor that requires grad", torch.tensor(float(value), requires_grad=True)
    yield "array of [2]", np.array([value, value])
    yield "array of floats", np.array(float(value))
    yield "tensor of [2]", torch.tensor([value, value])
    yield "[str]", ["a"]
    yield "[None]", [None]
    yield "long", 2**70


def _of_a_float(value: float) -> Iterator[tuple[str, Any]]:
    yield "np.float64", np.float64(value)
    yield "np.float32", np.float32(value)
    yield "np.float16", np.float16(value)
    yield "subclass of float", _Float(value)
    yield "__float__", _Real(value)
    yield "tensor", torch.tensor(value)
    yield "float64 tensor", torch.tensor(value, dtype=torch.float64)
    yield "array", np.array(value)
    yield "complex", complex(value)
    yield "Fraction", fractions.Fraction(value)
    yield "int", int(value)
    yield "np.int64", np.int64(value)
    yield "IntEnum", _member(int(value))
    yield "tensor that requires grad", torch.tensor(value, requires_grad=True)
    yield "tensor of [1]", torch.tensor([value])
    yield "array of [2]", np.array([value, value])


def _of_a_bool(value: bool) -> Iterator[tuple[str, Any]]:
    yield "np.bool_", np.bool_(value)
    yield "int", int(value)
    yield "IntEnum", _member(int(value))
    yield "tensor", torch.tensor(value)
    yield "array", np.array(value)


def _of_a_complex(value: complex) -> Iterator[tuple[str, Any]]:
    yield "np.complex64", np.complex64(value)
    yield "np.complex128", np.complex128(value)
    yield "tensor", torch.tensor(value)


def _of_a_str(value: str) -> Iterator[tuple[str, Any]]:
    yield "subclass of str", _Text(value)
    yield "np.str_", np.str_(value)
    yield "bytes", value.encode()


def _of_numbers(value: Any) -> Iterator[tuple[str, Any]]:
    kind = list if isinstance(value, list) else tuple
    yield "np.int64s", kind(map(np.int64, value))
    yield "IntEnums", kind(map(_member, value))
    yield "subclasses of int", kind(map(_Int, value))
    yield "__index__es", kind(map(_Index, value))
    yield "tensors", kind(map(torch.tensor, value))
    yield "arrays", kind(map(np.array, value))
    yield "floats", kind(map(float, value))
    yield "np.float64s", kind(map(np.float64, value))
    yield "Size", torch.Size(value)
    yield "array", np.array(value)
    yield "tensor", torch.tensor(value)
    yield "range", range(*((value[0], value[-1] + 1) if list(value) == list(range(value[0], value[-1] + 1)) else (0,)))
    for name, item in {"str": "a", "None": None, "float": 1.5, "bool": True, "list": [1], "long": 2**70, "np.float64": np.float64(1)}.items():
        yield f"first {name}", kind((item, *value[1:]))
        if len(value) > 1:
            yield f"last {name}", kind((*value[:-1], item))
    yield "empty", kind()
    yield "nested", kind([kind(value)])


def _of_items(value: Any) -> Iterator[tuple[str, Any]]:
    yield "list", list(value)
    yield "tuple", tuple(value)
    yield "subclass of list", _List(value)
    yield "subclass of tuple", _Tuple(value)
    if value:
        yield "named tuple", _named(value)
    if value and all(type(item) is int for item in value):
        yield from _of_numbers(value)
    elif value:
        yield "empty", type(value)()
        yield "nested", [list(value)]
        for name, item in {"None": None, "int": 1, "float": 1.5, "str": "a", "array": np.ones(2)}.items():
            yield f"first {name}", [item, *value[1:]]
            if len(value) > 1:
                yield f"last {name}", [*value[:-1], item]
    yield "generator", Later(lambda items: (item for item in items), list(value))
    yield "deque", Later(collections.deque, list(value))
    yield "values of a dict", Later(lambda items: dict(enumerate(items)).values(), list(value))


_TYPES = {torch.float32: float, torch.float64: float, torch.int64: int, torch.bool: bool, torch.complex64: complex}


def _of_a_dtype(value: torch.dtype) -> Iterator[tuple[str, Any]]:
    yield "type", _TYPES.get(value, float)
    yield "int", int
    yield "complex", complex
    yield "type that is no dtype", str
    yield "list", list
    yield "text", str(value).removeprefix("torch.")
    yield "NumPy's", np.float32
    yield "None", None


def _of_a_tensor(value: torch.Tensor) -> Iterator[tuple[str, Any]]:
    if value.numel() < 100 and not value.is_complex() and value.layout is torch.strided:
        yield "array", value.detach().numpy()
        yield "list", value.detach().tolist()
    if value.numel() == 1:
        yield "number", value.item()
    yield "None", None


def dresses(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the objects that replace a value, each with its name: those that stand for the same first."""
    for kind, make in _BY_KIND.items():
        if isinstance(value, kind):
            yield from make(value)
            return


_BY_KIND = {
    bool: _of_a_bool, int: _of_an_int, float: _of_a_float, complex: _of_a_complex, str: _of_a_str, (tuple, list): _of_items, torch.dtype: _of_a_dtype,
    torch.Tensor: _of_a_tensor,
}  # fmt: skip


def variants(call: Call) -> Iterator[tuple[str, str, Call]]:
    """Yield the calls that replace one argument, with its name or place and the name of the replacement; after all of one argument the call
    itself again."""
    for place, value in (*enumerate(call.args), *call.named.items()):
        for name, other in dresses(value):
            yield str(place), name, call.replaced(place, other)
        yield str(place), "itself again", call


if __name__ == "__main__":
    argument_kinds.main(variants)
