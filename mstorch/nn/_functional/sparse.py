"""Embeddings with torch.nn.functional's signatures."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._src.core.dtype import int64
from ..._src.core.one_device import OneDevice, table_elsewhere
from ..._src.core.tensor_base import TensorBase, array_of, value_of
from ..._src.core.warned import warn
from ..._src.ops._named import node_called
from ..._src.ops._operation import operation
from ..._src.ops.layers import embedding as emb
from ..._src.ops.shape import views
from ..._tensor import Tensor


@operation(one_device=OneDevice(words=table_elsewhere))
def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Return the rows of ``weight`` (rows, D) at indices of shape (*), as (*, D)."""
    padding = _padding(padding_idx, weight)
    if max_norm is not None:
        emb.renorm_rows_(weight, input, max_norm, norm_type)
    return emb.embedding(weight, input, padding, scale_grad_by_freq, sparse)


def _padding(padding_idx: int | None, weight: Tensor, bag: bool = False) -> int:
    if padding_idx is None:
        return -1
    rows = weight._ms_shape[0]
    if not -rows <= padding_idx < rows:
        if bag:
            raise RuntimeError(f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}")
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx + rows if padding_idx < 0 else padding_idx


@operation(one_device=OneDevice("__embedding_bag_forward_only"))
@node_called("EmbeddingBagBackward0")
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> TensorBase:  # fmt: skip
    """Return sums, means or maxima of rows of ``weight`` for bags of indices: (B, N), or (N) with ``offsets`` (B)."""
    if weight._ms_dtype is int64 and not input._ms_dtype.is_integral:
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, "
            "and should now be `embedding_bag(input, weight, ...)`.",
        )
        input, weight = weight, input
    if per_sample_weights is not None and input._ms_shape != per_sample_weights._ms_shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as "
            f"the input ({input.shape})"
        )
    if len(weight._ms_shape) != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {len(weight._ms_shape)}")
    shape = input._ms_shape
    if len(shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
                f"However, found offsets of type {type(offsets).__name__}"
            )
        starts = np.arange(shape[0] + 1) * shape[1]
        input = views.reshape(input, (-1,))
        if per_sample_weights is not None:
            per_sample_weights = views.reshape(per_sample_weights, (-1,))
    elif len(shape) == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if len(offsets._ms_shape) != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(shape)}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and (scale_grad_by_freq or sparse):
        words = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"max mode does not support {words}")
    if max_norm is not None:
        emb.renorm_rows_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if len(shape) == 1:
        starts = emb.bag_starts(offsets, shape[0], weight, mode, include_last_offset, padding_idx)
    padding = None if padding_idx is None else _padding(padding_idx, weight, bag=True)
    return emb.bag(weight, input, starts, mode, scale_grad_by_freq, per_sample_weights, padding, sparse)


