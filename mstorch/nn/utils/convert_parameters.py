"""Parameters as one flat vector."""
from __future__ import annotations

from collections.abc import Iterable

from ..._src.core.above import above
from ..._src.core.settings import typename
from ..._src.core.tensor_base import TensorBase
from ..._tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all parameters, flattened and concatenated."""
    return above.torch.cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the parameters to consecutive slices of a vector."""
    if not isinstance(vec, TensorBase):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[start : start + count].view_as(parameter).data
        start += count


__all__ = ["parameters_to_vector", "vector_to_parameters"]
