"""Gradient clipping."""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..._src.core.above import above
from ..._src.core.overriding import is_taken
from ..._src.core.tensor_base import TensorBase
from ..._src.core.warned import warn
from ..._src.hook import missing as _missing
from ..._src.ops._dispatch import type_word
from ..._src.ops.memory.together import can_be_laid_out, has_clean_gaps, laid_out, put_back
from ..._tensor import Tensor
from ...autograd.grad_mode import no_grad


def _gradients(parameters: Any) -> list[Tensor]:
    if isinstance(parameters, TensorBase):
        return [parameters.grad] if parameters.grad is not None else []
    return [p.grad for p in parameters if p.grad is not None]


def _norm(part: Tensor, order: float) -> Tensor:
    """Return a tensor's norm; a DTensor computes its global norm."""
    spread = getattr(part, "_global_norm", None)
    if part._ms_dtype.is_integral:
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {type_word(part._ms_dtype)}")
    return above.torch.linalg.vector_norm(part, order) if spread is None else spread(order)


def _flat_gradients(gradients: Sequence[Any]) -> Tensor | None:
    """Return a flat tensor of all gradients if they are in one allocation of a device, else None."""
    if len(gradients) < 2 or hasattr(gradients[0], "_global_norm") or (
        len({part._ms_dtype for part in gradients}) > 1 or is_taken(*gradients)
    ):
        return None
    return laid_out(gradients) if can_be_laid_out(gradients) else None


def get_total_norm(
    tensors: Tensor | Sequence[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Return the norm over all tensors; for DTensors it is a replicated DTensor."""
    with no_grad():
        parts = [tensors] if isinstance(tensors, TensorBase) else list(tensors)
        return _total_norm(parts, _flat_gradients(parts), float(norm_type), error_if_nonfinite)


def _total_norm(parts: Sequence[Any], flat: Tensor | None, order: float, error_if_nonfinite: bool) -> Tensor:
    """Return the norm over all tensors; ``flat`` holds them as one flat tensor, or is None."""
    if not parts:
        return above.torch.tensor(0.0)
    with no_grad():
        if flat is not None and order > 0 and has_clean_gaps(flat):
            total = above.torch.linalg.vector_norm(flat, order)
        else:
            total = above.torch.linalg.vector_norm(above.torch.stack([_norm(part, order) for part in parts]), order)
        if error_if_nonfinite and not math.isfinite(total.item()):
            raise RuntimeError(
                f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be "
                "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`"
            )
        spread = next((part for part in parts if hasattr(part, "_as_replicated")), None)
        return total if spread is None else spread._as_replicated(total)


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale the gradients in place so that their norm, given as ``total_norm``, is at most ``max_norm``."""
    gradients = _gradients(parameters)
    _scale(gradients, _flat_gradients(gradients), max_norm, total_norm)


def _scale(gradients: Sequence[Any], flat: Tensor | None, max_norm: float, total_norm: Any) -> None:
    """Scale gradients of the given norm in place; ``flat`` holds them as one flat tensor, or is None."""
    with no_grad():
        if hasattr(total_norm, "_as_replicated"):
            total_norm = total_norm.to_local()
        factor = above.torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        if flat is not None:
            flat.mul_(factor)
            put_back(flat, gradients, clean=False)  # a NaN factor makes the gaps between the gradients NaN, which have to be zero
            return
        for gradient in gradients:
            gradient.mul_(factor)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Scale the gradients in place so that their total norm is at most ``max_norm``; return the norm before scaling."""
    if isinstance(parameters, TensorBase):
        parameters = [parameters]
    elif not isinstance(parameters, (list, tuple)):
        parameters = list(parameters)
        if not parameters:
            warn("`parameters` is an empty generator, no gradient clipping will occur.")
    gradients = _gradients(parameters)
    flat = _flat_gradients(gradients)
    total = _total_norm(gradients, flat, float(norm_type), error_if_nonfinite)
    _scale(gradients, flat, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Deprecated name of ``clip_grad_norm_``."""
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every gradient to ±``clip_value``, in place."""
    limit = float(clip_value)
    with no_grad():
        gradients = _gradients(parameters)
        flat = _flat_gradients(gradients)
        if flat is not None:
            flat.clamp_(-limit, limit)
            put_back(flat, gradients)
            return
        for gradient in gradients:
            gradient.clamp_(-limit, limit)


__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

__getattr__ = _missing("mstorch.nn.utils.clip_grad")
