"""torch.nn.utils._expanded_weights.expanded_weights_utils: helpers shared by the functions that accept expanded weights."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from ...._tensor import Tensor
from .expanded_weights_impl import ExpandedWeight

_HOME = __name__.partition(".")[0]


def is_batch_first(expanded_args_and_kwargs: Iterable[Any]) -> bool | None:
    """Return the ``batch_first`` setting of the expanded weights among the arguments; None if there are none."""
    said = [arg.batch_first for arg in expanded_args_and_kwargs if isinstance(arg, ExpandedWeight)]
    if any(said) and not all(said):
        raise RuntimeError("Got conflicting batch_first arguments in the same layer")
    return said[0] if said else None


def standard_kwargs(kwarg_names: tuple[str, ...], expanded_args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split arguments into positional ones and a dict of keyword arguments; the last values belong to ``kwarg_names``."""
    count = len(expanded_args) - len(kwarg_names)
    return expanded_args[:count], dict(zip(kwarg_names, expanded_args[count:]))


def forward_helper(func: Callable[..., Any], expanded_args: tuple[Any, ...], expanded_kwargs: dict[str, Any]) -> Any:
    """Check the batch of the input, which is the first argument, and call ``func`` with the original weights."""
    check(func, expanded_args[0], (*expanded_args, *expanded_kwargs.values()))
    return func(*map(original, expanded_args), **{name: original(value) for name, value in expanded_kwargs.items()})


def original(value: Any) -> Any:
    """Return the original of an expanded weight; other values unchanged."""
    return value.orig_weight if isinstance(value, ExpandedWeight) else value


def check(func: Callable[..., Any], input: Tensor | ExpandedWeight, values: Iterable[Any]) -> None:
    """Raise RuntimeError if the input is an ExpandedWeight or has no batch, or if the weights' batch sizes or loss reductions do not match.
    """
    if isinstance(input, ExpandedWeight):
        raise RuntimeError(
            "Expanded Weights do not support inputs that are also ExpandedWeights. "
            f"Input must be a Tensor, got {type(input).__name__} in function {func.__name__}"
        )
    if not isinstance(input, Tensor):
        raise RuntimeError(
            "Expanded Weights requires a Tensor as the first input to get the batch dimension, "
            f"got {type(input).__name__} in function {func.__name__}"
        )
    if not input.shape:
        raise RuntimeError(f"Expanded Weights requires a batch dimension but got an input of size 0 in function {func.__name__}")
    if input.shape[0] == 0:
        raise RuntimeError(
            f"0 is not a valid batch size for Expanded Weights but got input tensor of {input} in function {func.__name__}"
        )
    weights = [value for value in values if isinstance(value, ExpandedWeight)]
    for weight in weights:
        size = input.shape[0 if weight.batch_first else 1]
        if size > weight.batch_size if weight.allow_smaller_batches else size != weight.batch_size:
            raise wrong_size(size, weight)
    for weight in weights[1:]:
        if weight.loss_reduction != weights[0].loss_reduction:
            raise RuntimeError(
                "Expected ExpandedWeights to all have the same loss_reduction argument but got one"
                f"with {weights[0].loss_reduction} and one with {weight.loss_reduction}"
            )


def wrong_size(size: int, weight: ExpandedWeight) -> RuntimeError:
    """Return the error for an input of ``size`` samples that does not have the weight's batch size."""
    return RuntimeError(
        f"Expected ExpandedWeights to have batch size matching input but got input batch size of {size} with "
        f"ExpandedWeight of batch size {weight.batch_size}"
    )


def maybe_scale_by_batch_size(grad_sample: Tensor, expanded_weight: ExpandedWeight) -> Tensor:
    """Multiply per-sample gradients by the batch size if the loss is a mean over the batch."""
    return grad_sample * expanded_weight.batch_size if expanded_weight.loss_reduction == "mean" else grad_sample


def set_grad_sample_if_exists(maybe_expanded_weight: Tensor | ExpandedWeight, per_sample_grad_fn: Callable[[Tensor], Tensor]) -> None:
    """Add the function's result for the original weight to its ``grad_sample``; do nothing for a value that is not an expanded weight."""
    unpacked = unpack_expanded_weight_or_tensor(maybe_expanded_weight)
    if not isinstance(maybe_expanded_weight, ExpandedWeight):
        return
    sample = maybe_scale_by_batch_size(per_sample_grad_fn(unpacked), maybe_expanded_weight)
    missing = maybe_expanded_weight.batch_size - sample.shape[0]
    if missing > 0 and maybe_expanded_weight.allow_smaller_batches:
        sample = sys.modules[_HOME].cat([sample, sample.new_zeros((missing, *sample.shape[1:]))])
    before = getattr(unpacked, "grad_sample", None)
    unpacked.grad_sample = sample if before is None else before + sample


def unpack_expanded_weight_or_tensor(maybe_expanded_weight: Tensor | ExpandedWeight, func: Callable[[Tensor], Any] = lambda x: x) -> Any:
    """Return ``func`` of an expanded weight's original, or of a tensor that does not require grad; None for other values. Raise
    RuntimeError for a tensor that requires grad."""
    if isinstance(maybe_expanded_weight, ExpandedWeight):
        return func(maybe_expanded_weight.orig_weight)
    if not isinstance(maybe_expanded_weight, Tensor):
        return None
    if maybe_expanded_weight.requires_grad:
        raise RuntimeError(
            "ExpandedWeights currently does not support a mixture of ExpandedWeight parameters and normal Parameters. "
            "Please file and issue with pytorch/pytorch"
        )
    return func(maybe_expanded_weight)


def sum_over_all_but_batch_and_last_n(tensor: Tensor, n_dims: int) -> Tensor:
    """Return the sum over the dimensions between the first and the last ``n_dims``."""
    between = list(range(1, tensor.dim() - n_dims))
    return tensor.sum(dim=between) if between else tensor
