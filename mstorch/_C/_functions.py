"""torch._C._functions: node classes, and two operations whose gradients are missing or raise."""
from __future__ import annotations

from typing import Any

from .._src.hook import missing
from .._src.tape.node import Accumulate as AccumulateGrad
from .._tensor import Tensor
from ..autograd.function import Function, FunctionCtx
from ..autograd.gradcheck import Undefined
from ..autograd.graph import Node as _PublicNode


class UndefinedGrad:
    """Identity whose gradient is dropped in backward."""

    def __call__(self, tensor: Any) -> list[Tensor]:
        return Undefined.apply(tensor)


class _Delayed(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, message: str, *tensors: Any) -> Any:
        ctx.message = message
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Any) -> Any:
        raise RuntimeError(ctx.message)


class DelayedError:
    """Identity on tensors; backward through it raises RuntimeError with the given message."""

    def __init__(self, message: str, num_inputs: int) -> None:
        self._message = message

    def __call__(self, *tensors: Any) -> Tensor | tuple[Tensor, ...]:
        found = _Delayed.apply(self._message, *tensors)
        return found[0] if len(tensors) == 1 else found


_PublicNode.register(DelayedError)

__all__ = ["AccumulateGrad", "DelayedError", "UndefinedGrad"]
__getattr__ = missing("mstorch._C._functions")
