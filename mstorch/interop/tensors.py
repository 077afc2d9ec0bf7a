"""Conversion between tensors of the two libraries."""
from __future__ import annotations

from .._src.backend.arrays import Array
from .._src.backend.raw import Raw
from .._src.core.tensor_base import TensorBase
from .._tensor import from_mindspore


def to_mindspore(tensor: TensorBase | Array | Raw) -> Raw:
    """Return the mindspore.Tensor of a tensor, which shares memory and the autograd graph. Raise TypeError for anything else."""
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"to_mindspore expects a torch.Tensor, not {type(tensor).__name__}")
    return tensor.to_mindspore()


__all__ = ["from_mindspore", "to_mindspore"]
