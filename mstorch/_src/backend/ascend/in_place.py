"""Kernels of Ascend that write over their first operand, for operations whose usual row is the primitive without "Inplace".

MindSpore has no such primitive of the other elementwise operations (2.10): their result is beside the operand for a moment.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..raw import Raw
from ..table import CHANGES, FLOATS, HALVES, ROWS, TAKEN, serves
from ._primitives import rounds_in, run
from .elementwise import bound_of

_REAL = (*FLOATS, *HALVES)
_NUMBERS = (*_REAL, "int32", "int64")


def _sum(name: str, x: Raw, other: Raw, scale: float = 1) -> None:
    run(name, x, other, scale)


def _elu(x: Raw, alpha: float, scale: float, input_scale: float) -> None:
    run("InplaceElu", x, float(alpha))


def _scatter(x: Raw, source: Raw, dim: int, index: Raw, how: str) -> None:
    run("InplaceScatterAdd" if how == "add" else "InplaceScatterSrc", x, dim, index, source)


def _clamp(x: Raw, low: Raw | None, high: Raw | None) -> None:
    run("InplaceClampTensor", x, bound_of(low, tuple(x.shape)), bound_of(high, tuple(x.shape)))


def _divide(how: str, x: Raw, other: Raw) -> None:
    run("InplaceDivMod", x, other, how)


def _keeps(kind: str, *numbers: float) -> bool:
    return not rounds_in(kind, *numbers)


def _enter(
    op: str, function: Callable[..., Any] | str, kinds: tuple[str, ...], takes: Callable[..., bool] = lambda kind, *args: True
) -> None:
    CHANGES[op] = partial(run, function) if isinstance(function, str) else function
    TAKEN[op] = lambda kind, *args: kind in kinds and (op not in ROWS or serves(op, kind)) and takes(kind, *args)


_enter("add", partial(_sum, "InplaceAddExt"), _NUMBERS)
_enter("sub", partial(_sum, "InplaceSubExt"), _NUMBERS)
_enter("add_scaled", partial(_sum, "InplaceAddExt"), ("float32",))
_enter("mul", "InplaceMul", _NUMBERS)
_enter("relu", "InplaceReLU", _NUMBERS)
for _op, _name in {
    "div": "Div", "exp": "Exp", "log": "Log", "tanh": "Tanh", "sigmoid": "Sigmoid", "floor": "Floor", "erfinv": "Erfinv", "silu": "SiLU",
}.items():  # fmt: skip
    _enter(_op, f"Inplace{_name}", _REAL)
_enter("elu", _elu, _REAL, lambda kind, alpha, scale, input_scale: scale == input_scale == 1 and not rounds_in(kind, alpha))
_enter("hardtanh", "InplaceHardtanh", _REAL, _keeps)
_enter("threshold", "InplaceThreshold", _REAL, _keeps)
_enter("clamp", _clamp, _NUMBERS)
_enter("remainder", "InplaceRemainderTensorTensor", _NUMBERS)
_enter("floor_divide", partial(_divide, "floor"), _NUMBERS)
_enter("masked_fill", "InplaceMaskedFillTensor", (*_NUMBERS, "bool", "int8", "uint8"))
_enter("scatter", _scatter, ("float32", "float16", "bfloat16", "int32", "int64"), lambda kind, dim, how: how in ("add", "none", "update"))
