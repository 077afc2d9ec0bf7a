"""torch.nn.utils._per_sample_grad: gradients of a module's parameters for each sample of a batch."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._tensor import Tensor
from ...func import functional_call
from ...utils._pytree import tree_leaves
from ..modules.module import Module
from ._expanded_weights.expanded_weights_impl import ExpandedWeight


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """Return the module as a function whose backward pass puts each sample's gradient in the parameters' ``grad_sample``.

    Without ``batch_size`` all tensors given must have the same number of samples. With ``loss_reduction="mean"`` the gradients are
    multiplied by it.
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple "
                f"calls without clearing gradients. Please clear out the grad_sample parameter of {weight} or "
                "post an issue to pytorch/pytorch to prioritize correct behavior"
            )

    @functools.wraps(module.forward)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        size = _common_size((args, kwargs), batch_first) if batch_size is None else batch_size
        named = {
            name: ExpandedWeight(value, size, loss_reduction) if value.requires_grad else value
            for name, value in module.named_parameters()
        }
        return functional_call(module, named, args, kwargs)

    return wrapper


def _common_size(given: tuple[Any, ...], batch_first: bool) -> int:
    size = None
    for value in tree_leaves(given):
        if isinstance(value, Tensor):
            own = value.shape[0 if batch_first else 1]
            if size is not None and own != size:
                raise RuntimeError(
                    "When computing batch size, found at least one input with batch size "
                    f"{size} and one with batch size {own}. Please specify it "
                    "explicitly using the batch size kwarg in call_for_per_sample_grads"
                )
            size = own
    if size is None:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able "
            "and so ExpandedWeights cannot compute the batch size from the inputs. Please specify it explicitly"
        )
    return size
