"""torch.autograd: gradients by MindSpore's tape."""
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

__all__ = [
    "Function", "FunctionCtx", "backward", "enable_grad", "grad", "graph", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
    "set_grad_enabled",
]  # fmt: skip
