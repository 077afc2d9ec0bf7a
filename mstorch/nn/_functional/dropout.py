"""Dropout with torch.nn.functional's signatures."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._src.core.warned import warn
from ..._src.ops._in_place import in_place
from ..._src.ops._operation import BY_TENSOR, operation
from ..._src.ops.layers import dropout as drops
from ..._src.ops.shape import views
from ..._tensor import Tensor


def _checked(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _done(function: Callable[..., Any], input: Tensor, inplace: bool, p: float, training: bool) -> Any:
    """Return ``function(input, …)``, stored in ``input`` with ``inplace``; if no element is dropped, write nothing (a leaf is allowed)."""
    if not inplace:
        return function(input, p, training)
    return in_place(input, function, p, training) if _drops_elements(input, p, training) else input


def _drops_elements(input: Tensor, p: float, training: bool) -> bool:
    return training and p != 0 and 0 not in input._ms_shape


@operation(draws=BY_TENSOR)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to 0 with probability ``p`` and divide the others by 1 - p."""
    _checked(p)
    return _done(drops.dropout, input, inplace, p, training)


@operation(draws=BY_TENSOR)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply dropout that keeps mean and variance, for SELU."""
    _checked(p)
    return _done(drops.alpha_dropout, input, inplace, p, training)


@operation(draws=BY_TENSOR)
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply alpha dropout to whole channels of (N, C, *)."""
    _checked(p)
    return _done(drops.feature_alpha_dropout, input, inplace, p, training)


@operation(draws=BY_TENSOR)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of (N, C, L) or (C, L) to 0 with probability ``p``."""
    _checked(p)
    rank = input.dim()
    if rank not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. Note that dropout1d exists to provide channel-wise "
            "dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D "
            "inputs)."
        )
    return _channels(input, p, training, inplace, rank == 2)


def _channels(input: Tensor, p: float, training: bool, inplace: bool, single: bool) -> Any:
    if not single:
        return _done(drops.feature_dropout, input, inplace, p, training)
    if inplace and not _drops_elements(input, p, training):
        return input
    result = drops.feature_dropout(views.unsqueeze(input, 0), p, training)
    return in_place(input, lambda tensor: views.squeeze(result, 0)) if inplace else views.squeeze(result, 0)


@operation(draws=BY_TENSOR)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of (N, C, H, W) to 0 with probability ``p``."""
    _checked(p)
    rank = input.dim()
    if rank not in (3, 4):
        warn(
            f"dropout2d: Received a {rank}-D input to dropout2d, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d exists to "
            "provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional batch "
            "dimension (i.e. 3D or 4D inputs).",
        )
    if rank == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
            "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout "
            "behavior, please switch to using dropout1d instead.",
        )
    return _channels(input, p, training, inplace, False)


@operation(draws=BY_TENSOR)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of (N, C, D, H, W) or (C, D, H, W) to 0 with probability ``p``."""
    _checked(p)
    rank = input.dim()
    if rank not in (4, 5):
        warn(
            f"dropout3d: Received a {rank}-D input to dropout3d, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout3d exists to "
            "provide channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an optional batch "
            "dimension (i.e. 4D or 5D inputs).",
        )
    return _channels(input, p, training, inplace, rank == 4)
