"""torch.autograd: reverse-mode and forward-mode differentiation, on mstorch's own tape."""

from __future__ import annotations

import sys as _sys
from typing import Any

from .._src.core.above import above as _above
from .._src.core.formats import strided as _strided
from .._src.core.size import Size as _Size
from .._src.hook import missing as _missing
from .._src.tape.saved import SavedTensor as SavedTensor
from . import anomaly_mode, forward_ad, functional, graph, profiler
from . import profiler_util as profiler_util
from ._recorder import running as _running
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .backward import backward, grad
from .function import Function, FunctionCtx, NestedIOFunction
from .grad_mode import _force_original_view_tracking as _force_original_view_tracking
from .grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .grad_mode import is_view_replay_enabled as is_view_replay_enabled
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .profiler import kineto_available
from .variable import Variable


def _calculate_shape(output: Any, grad: Any, is_grads_batched: bool) -> tuple[Any, Any]:
    """Return the shape that the gradient of an output must have, and the shape that it has; tensors of shapes for nested tensors."""
    if isinstance(output, graph.GradientEdge):
        if is_grads_batched:
            raise RuntimeError("Batched grads are not supported with GradientEdge")
        shape, _ = (output.node.likes_of or {})[output.output_nr]
        return _Size(shape), grad.shape
    if output.is_nested and output.layout is _strided:
        if is_grads_batched:
            raise RuntimeError("Batched grads are not supported with Nested Tensor.")
        return output._nested_tensor_size(), grad._nested_tensor_size()
    return output.shape, grad.shape[1:] if is_grads_batched else grad.shape


def variable(*args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError: removed from torch in favour of ``torch.tensor``."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


__all__ = [
    "Function", "FunctionCtx", "GradcheckError", "NestedIOFunction", "Variable", "anomaly_mode", "backward",
    "detect_anomaly", "enable_grad", "enforce_grad_layout_policy", "forward_ad", "functional", "grad", "gradcheck",
    "gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
    "is_multithreading_enabled", "no_grad", "profiler",
    "kineto_available", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled", "variable",
]  # fmt: skip

def _profiler_enabled() -> bool:
    """Return whether a profiler is running."""
    return bool(_running())


__getattr__ = _missing(__name__)
_above.autograd = _sys.modules[__name__]
