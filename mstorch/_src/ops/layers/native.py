"""Native forms of layers: normalization with statistics, dropout with mask."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.dtype import bool_
from ...core.modes import modes
from ...core.one_device import OneDevice
from ...core.tensor_base import TensorBase
from ...leaving import values_set_to
from ...tape.composite import record
from .._dispatch import finish, with_format, without_grad, wrap_dim
from .._memory_order import in_order_of, kept_order
from .._operation import operation
from ..elementwise.elementwise import mul
from ..indexing.scatter import scatter_add
from ..linalg.linalg import matrix_norm
from ..linalg.linalg_factor import attach
from ..memory.creation import empty, full, ones, zeros
from ..reduce.measure import norm
from ..reduce.reduce import mean
from ..reduce.variance import var
from ..reduce.vector_norm import vector_norm
from ..shape import views
from .dropout import dropout
from .norm import batch_norm, group_norm, layer_norm
from .pixel import channel_shuffle


def _moments(input: TensorBase, dims: tuple[int, ...], eps: float, keepdim: bool) -> tuple[Any, Any]:
    """Return the mean and the reciprocal standard deviation over some dimensions."""
    wide = input.float() if input._ms_dtype.itemsize == 2 else input
    centre = mean(wide, dims, keepdim)
    spread = (var(wide, dims, correction=0, keepdim=keepdim) + eps).rsqrt()
    return centre.to(input._ms_dtype), spread.to(input._ms_dtype)


def native_layer_norm(
    input: TensorBase, normalized_shape: Sequence[int], weight: TensorBase, bias: TensorBase, eps: float
) -> tuple[Any, Any, Any]:
    """Return ``layer_norm`` with the mean and reciprocal standard deviation (..., 1) of each normalized part."""
    wanted = tuple(normalized_shape)
    result = layer_norm(input, wanted, weight, bias, eps)
    shape = input._ms_shape
    lead = shape[: len(shape) - len(wanted)]
    with without_grad():
        flat = views.reshape(input, (*lead, math.prod(wanted))) if input.numel() else input.new_zeros((*lead, 1))
        centre, spread = _moments(flat.detach(), (len(lead),), eps, False)
        stats = [views.reshape(part, (*lead, *([1] * len(wanted)))) for part in (centre, spread)]
    return result, stats[0], stats[1]


def native_group_norm(
    input: TensorBase, weight: TensorBase, bias: TensorBase | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """Return ``group_norm`` with the mean and reciprocal standard deviation (N, group) of each group."""
    result = group_norm(input, group, weight, bias, eps)
    with without_grad():
        if input.numel():
            centre, spread = _moments(views.reshape(input.detach(), (N, group, -1)), (2,), eps, False)
        else:
            made = {"dtype": input._ms_dtype, "device": input.device}
            centre, spread = zeros((N, group), **made), full((N, group), math.nan, **made)
    # In torch they are outputs of the result's node, so that autograd tracks them if a weight requires grad.
    given = tuple(item for item in (input, weight, bias) if item is not None)
    return result, *record("NativeGroupNormBackward0", _moments_backward, given, (centre, spread), forward=_moments_forward)


def _moments_backward(
    gradients: Sequence[TensorBase | None], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]
) -> tuple[TensorBase | None, ...]:
    """Return the gradient of the groups' mean and reciprocal standard deviation for the input; None unless both have a gradient, as in
    torch."""
    nothing = (None,) * len(inputs)
    if gradients[0] is None or gradients[1] is None or not inputs[0].numel():
        return nothing
    groups, centre, spread = _groups(inputs[0], outputs)
    slope = gradients[0].unsqueeze(-1) - gradients[1].unsqueeze(-1) * (groups - centre) * spread**3
    return views.reshape(slope / groups._ms_shape[2], inputs[0]._ms_shape), *nothing[1:]


def _moments_forward(tangents: Any, outputs: Any, inputs: Any) -> Any:
    if tangents[0] is None or not inputs[0].numel():
        return None, None
    groups, centre, spread = _groups(inputs[0], outputs)
    moved = views.reshape(tangents[0], groups._ms_shape)
    return mean(moved, 2), mul(-mean(moved * (groups - centre), 2), outputs[1] ** 3)


def _groups(input: TensorBase, moments: Sequence[TensorBase]) -> tuple[Any, Any, Any]:
    shape = moments[0]._ms_shape
    return views.reshape(input, (*shape, -1)), views.unsqueeze(moments[0], -1), views.unsqueeze(moments[1], -1)


def native_batch_norm(
    input: TensorBase, weight: TensorBase | None, bias: TensorBase | None, running_mean: TensorBase | None,
    running_var: TensorBase | None, training: bool, momentum: float, eps: float, *, out: TensorBase | Sequence[TensorBase] | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return ``batch_norm`` with the mean and reciprocal standard deviation (C) of the batch; in evaluation these are empty."""
    if training and len(input._ms_shape) > 1:
        _refuse_empty(input)
    result = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    if training:
        with without_grad():
            dims = tuple(d for d in range(len(input._ms_shape)) if d != 1)
            stats = _moments(input.detach(), dims, eps, False)
    else:
        stats = (empty(0, dtype=input._ms_dtype, device=input.device), empty(0, dtype=input._ms_dtype, device=input.device))
    return finish((result, *stats), out)


def _refuse_empty(input: TensorBase) -> None:
    if not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input._ms_shape)}")


def batch_norm_update_stats(
    input: TensorBase, running_mean: TensorBase | None, running_var: TensorBase | None, momentum: float
) -> tuple[Any, Any]:
    """Return the mean and biased variance (C) of a batch, and update the running statistics in place."""
    if len(input._ms_shape) > 1:
        _refuse_empty(input)
    dims = tuple(d for d in range(len(input._ms_shape)) if d != 1)
    with without_grad(), values_set_to(modes, level=0):
        plain = input.detach()
        centre, spread = mean(plain, dims), var(plain, dims, correction=0)
        count = plain.numel() // max(plain._ms_shape[1], 1)
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(centre * momentum)
        if running_var is not None:
            running_var.mul_(1 - momentum).add_(spread * (momentum * count / (count - 1) if count > 1 else float("nan")))
    return centre, spread


def native_dropout(input: TensorBase, p: float, train: bool | None) -> tuple[Any, Any]:
    """Return ``dropout`` and the mask of kept elements."""
    shape, kind = input._ms_shape, input._ms_dtype
    if not input.numel():
        return kept_order(mul(input, 1), input), kept_order(empty(shape, dtype=bool_, device=input.device), input)
    if train is False:
        return mul(input, 1), ones(shape, dtype=bool_, device=input.device)
    sure = p in (0, 1)  # random numbers are drawn nevertheless, as in torch
    mask = kept_order(dropout(ones(shape, dtype=kind, device=input.device), 0.5 if sure else p, True) != 0, input)
    if sure:
        return mul(input, 1 - p), full(shape, p == 0, dtype=bool_, device=input.device)
    return in_order_of(mul(mul(input, mask.to(kind)), 1 / (1 - p)), input, mask), mask


@operation(one_device=OneDevice("_native_dropout_backward"))
def native_dropout_backward(grad_output: TensorBase, mask: TensorBase, scale: float) -> TensorBase:
    """Return the gradient of ``native_dropout``: ``grad_output * mask * scale``."""
    return mul(mul(grad_output, mask.to(grad_output._ms_dtype)), scale)


def native_channel_shuffle(input: TensorBase, groups: int) -> TensorBase:
    """Return ``channel_shuffle`` of the arguments; an alias."""
    return channel_shuffle(input, groups)


def norm_except_dim(v: TensorBase, pow: int = 2, dim: int = 0) -> TensorBase:
    """Return the norm over all dimensions except ``dim``, with every dimension kept; over all dimensions if ``dim`` is -1."""
    rank = len(v._ms_shape)
    if dim == -1:
        return norm(v, pow)
    dim = wrap_dim(dim, rank)
    return vector_norm(v, pow, tuple(d for d in range(rank) if d != dim), True)


def frobenius_norm(input: TensorBase, dim: int, keepdim: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return the root of the sum of squares over one or two dimensions (all if ``dim`` is empty)."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    return finish(vector_norm(input, 2, dims or None, keepdim), out)


def nuclear_norm(input: TensorBase, dim: Any = (-2, -1), keepdim: bool = False, *, out: TensorBase | None = None) -> TensorBase:
    """Return the sum of the singular values of matrices in two dimensions."""
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    if len(dim) != 2:
        raise RuntimeError(f"nuclear_norm: 'dim' must specify exactly 2 dimensions, but got {len(dim)} dimensions instead")
    return finish(matrix_norm(input, "nuc", tuple(dim), keepdim), out)


def _pool_backward(
    gradients: list[TensorBase], outputs: list[TensorBase], inputs: list[TensorBase], indices: TensorBase
) -> tuple[TensorBase | None, ...]:
    gradient, source = gradients[0], inputs[0]
    if gradient is None:
        return None, None
    lead = source._ms_shape[:-2]
    flat = views.reshape(gradient, (*lead, -1)).gather(len(lead), views.reshape(indices, (*lead, -1)))
    return views.reshape(flat, source._ms_shape), None


def max_pool2d_with_indices_backward(
    grad_output: TensorBase, input: TensorBase, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], ceil_mode: bool, indices: TensorBase
) -> Any:
    """Return the input gradient of ``max_pool2d``, from the indices of the maxima."""
    shape = input._ms_shape
    lead = shape[:-2]
    with without_grad():
        flat = zeros((*lead, shape[-2] * shape[-1]), dtype=grad_output._ms_dtype, device=grad_output.device)
        at = views.reshape(indices, (*lead, -1))
        found = scatter_add(flat, len(lead), at, views.reshape(grad_output.detach(), (*lead, -1)))
        found = with_format(views.reshape(found, shape), input)
    name = "MaxPool2DWithIndicesBackwardBackward0"
    return attach(name, _pool_backward, (grad_output, input), (found,), indices)[0]
