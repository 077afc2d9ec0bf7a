"""Bitwise operations on integers on the host."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array
from ..table import define_host
from ._ufunc import INTS


def _bits(function: np.ufunc) -> Callable[..., Any]:
    def kernel(x: Array, y: Array) -> Array:
        return np.asarray(function(x, y))

    return kernel


def numpy_bitwise_not(x: Array) -> Array:
    """Return the bitwise complement."""
    return np.asarray(np.invert(x))


def _shifted(function: np.ufunc, beyond: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(x: Array, counts: Array) -> Array:
        # C leaves counts outside the width undefined; torch has fixed results.
        outside = (counts < 0) | (counts >= x.dtype.itemsize * 8)
        found = function(x, np.where(outside, counts.dtype.type(0), counts))
        return np.asarray(np.where(outside, beyond(x), found), x.dtype)

    return kernel


for _op, _function in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor)):
    define_host(_op, _bits(_function), (*INTS, "bool", "uint16"))
define_host("bitwise_not", numpy_bitwise_not, (*INTS, "bool"))
define_host("bitwise_left_shift", _shifted(np.left_shift, lambda x: x.dtype.type(0)), INTS)
define_host("bitwise_right_shift", _shifted(np.right_shift, lambda x: np.where(x < 0, np.array(-1).astype(x.dtype), x.dtype.type(0))), INTS)
