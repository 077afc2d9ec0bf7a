"""Every function with ``out=`` or an in-place form, of one to three tensors of one size, on memory that partly overlaps an operand.

torch refuses where it would read what it has written; mstorch refuses the same, with torch's words.
"""
from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest
import torch

import mstorch

KINDS = ("out", "in place", "in place, one element", "out, one element")
NOT_COMPARED = {
    "hash_tensor": "its dtype of ``out`` is not looked at", "is_vulkan_available": "no operation", "fill": "the value is a number",
    "conj_physical": "torch leaves a real tensor as it is without a look at it",
}  # fmt: skip
DTYPES = ("float64", "int64", "bool")
LENGTH = 9
REFUSED = "RuntimeError: unsupported operation"


def _called(lib: Any, name: str, count: int, which: int, kind: str, dtype: str) -> str:
    """Return the error of a call; "" if there is none."""
    lib.manual_seed(0)
    data = (lib.rand(20, dtype=lib.float64) * (1 if dtype == "float64" else 4)).to(getattr(lib, dtype))
    operands = [data[:LENGTH].clone() for _ in range(count)]
    one = data[:1].expand(LENGTH)
    try:
        if kind == "out":
            operands[which] = data[1 : LENGTH + 1]
            getattr(lib, name)(*operands, out=data[:LENGTH])
        elif kind == "out, one element":
            getattr(lib, name)(*operands, out=one)
        elif kind == "in place":
            operands[0], operands[which] = data[:LENGTH], data[1 : LENGTH + 1]
            getattr(lib.Tensor, f"{name}_")(*operands)
        else:
            getattr(lib.Tensor, f"{name}_")(one, *operands[1:])
    except (RuntimeError, TypeError, AttributeError, ValueError, IndexError, AssertionError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ""


def _differences(names: list[str]) -> list[str]:
    found = []
    for name, count, kind, dtype in itertools.product(names, (1, 2, 3), KINDS, DTYPES):
        for which in range(kind == "in place", count if kind in ("out", "in place") else 1 + (kind == "in place")):
            wanted = _called(torch, name, count, which, kind, dtype)
            refused = wanted.startswith(REFUSED)
            if wanted and not refused:
                continue  # an error of another kind
            given = _called(mstorch, name, count, which, kind, dtype)
            if wanted != given and not (refused and given and not given.startswith(REFUSED)):  # the order of errors has other tests
                found.append(f"{name} of {count} ({dtype}), {kind}, operand {which}: {given or 'no error'} instead of {wanted or 'none'}")
    return found


NAMES = [name for name in dir(torch) if name[0].islower() and callable(getattr(torch, name)) and name not in NOT_COMPARED]


@pytest.mark.sweep
@pytest.mark.on_the_cpu
@pytest.mark.parametrize("part", range(8))
def test_functions(part: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert _differences(NAMES[part::8]) == []


@pytest.mark.on_the_cpu
def test_functions_of_three_tensors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert _differences(["addcmul", "addcdiv", "addr", "lerp", "clamp", "where"]) == []
    assert "unsupported operation" in _called(torch, "addcmul", 3, 1, "out", "float64")
