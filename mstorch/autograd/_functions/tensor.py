"""torch.autograd._functions.tensor: another dtype, and another shape of the same elements."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from ..function import Function, FunctionCtx


class Type(Function):
    """A conversion to another type of tensors; the gradient is converted back."""

    @staticmethod
    def forward(ctx: FunctionCtx, i: Tensor, dest_type: Any) -> Tensor:
        """Return the tensor in a type, which is a dtype or a class such as ``torch.DoubleTensor``."""
        ctx.kind = i.dtype
        return i.type(dest_type)

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Tensor) -> tuple[Tensor, None]:
        """Return the gradient in the type of the input."""
        return grad_output.to(ctx.kind), None


class Resize(Function):
    """A tensor's elements in another shape, in their order."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, sizes: Sequence[int]) -> Tensor:
        """Return the elements in a shape. Raise RuntimeError if their number is another."""
        count = math.prod(sizes)
        if tensor.numel() != count:
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({count} elements in total), but the given tensor has a size of "
                f"{'x'.join(map(str, tensor.size()))} ({tensor.numel()} elements). autograd's resize can only change the shape of a given "
                "tensor, while preserving the number of elements. "
            )
        ctx.shape = tensor.size()
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Tensor) -> tuple[Tensor, None]:
        """Return the gradient in the shape of the input."""
        return grad_output.contiguous().view(ctx.shape), None


__all__ = ["Resize", "Type"]
