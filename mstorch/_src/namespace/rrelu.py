"""rrelu with slopes drawn from a given generator."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ...autograd.function import Function, FunctionCtx
from ..core.dtype import float32, float64
from ..core.generator import Generator
from ..ops.memory.creation import empty, ones
from ..ops.memory.from_data import tensor


class _Sloped(Function):
    """Product with slopes: values are multiplied in at least float32 and rounded once, gradients use the rounded slopes, as in torch."""

    @staticmethod
    def forward(ctx: FunctionCtx, input: Tensor, slopes: Tensor) -> Tensor:
        ctx.save_for_backward(slopes.to(input.dtype))
        return (input.to(slopes.dtype) * slopes).to(input.dtype)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> Any:
        (slopes,) = ctx.saved_tensors
        return gradient * slopes, None


def drawn_rrelu(input: Tensor, lower: float, upper: float, generator: Generator) -> Tensor:
    """Return ``x`` where it is positive, else ``a * x``; ``a`` is drawn from [lower, upper) for the other elements only, in order."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    input = input.contiguous()
    wide = float64 if input.dtype == float64 else float32
    low, high = (tensor(bound, dtype=wide).item() for bound in (lower, upper))
    chosen = input.detach() <= 0
    # Not uniform_(low, high): for rrelu torch's kernel rounds once, there twice.
    units = empty(int(chosen.sum()), dtype=float64).uniform_(generator=generator)
    slopes = ones(input.shape, dtype=wide).masked_scatter_(chosen, (units * (high - low) + low).to(wide))
    return _Sloped.apply(input, slopes)
