"""torch.autograd: gradients by MindSpore's tape."""

from __future__ import annotations

from typing import Any

from . import graph
from .backward import backward, grad
from .function import Function, FunctionCtx
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .gradcheck import GradcheckError, gradcheck, gradgradcheck


def Variable(data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
    """The tensor itself, over the same data: tensors have been variables since torch 0.4."""
    return data.detach().requires_grad_(requires_grad)


__all__ = [
    "Function", "FunctionCtx", "GradcheckError", "Variable", "backward", "enable_grad", "grad", "gradcheck",
    "gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
    "set_grad_enabled",
]  # fmt: skip
