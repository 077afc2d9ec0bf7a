"""Operations of tensors for the formulas of losses (``backend/formulas/namespace.py``); dtypes are promoted, autograd follows."""
from __future__ import annotations

from ...core.tensor_base import TensorBase
from ..elementwise.compare import ge, where
from ..elementwise.elementwise import abs as abs_
from ..elementwise.elementwise import add, div, mul, sign

__all__ = ["abs_", "at_least", "mul", "over", "plus", "settled", "times", "where", "with_sign"]

plus, times, over, at_least = add, mul, div, ge


def settled(x: TensorBase, condition: TensorBase, number: float) -> TensorBase:
    """Return the number in place of x where the condition holds."""
    return where(condition, number, x)


def with_sign(number: float, x: TensorBase) -> TensorBase:
    """Return the number with the signs of x, as a constant."""
    return mul(sign(x.detach()), number)
