"""Helpers of distributions: broadcasting of parameters, probabilities and logits, triangular matrices as vectors."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import mstorch as torch

from .._src.core.device import device
from .._src.core.dtype import dtype
from .._tensor import Tensor

euler_constant = 0.57721566490153286060
NUMBERS = (bool, int, float)


def _tensor_like(value: object) -> bool:
    return isinstance(value, torch.Tensor) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Tensor | int | float | bool) -> tuple[Any, ...]:
    """Return the values as tensors broadcast to one shape; numbers take the first tensor's dtype and device, else the default dtype."""
    if not all(_tensor_like(value) or isinstance(value, NUMBERS) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    first = next((value for value in values if isinstance(value, torch.Tensor)), None)
    like = {"dtype": torch.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    return torch.broadcast_tensors(*(value if _tensor_like(value) else torch.tensor(value, **like) for value in values))


def _standard_normal(shape: Sequence[int], dtype: dtype, device: device | str | int) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return the probabilities of logits: of binary events (``is_binary``), or by softmax along the last dimension."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Return the probabilities clamped off 0 and 1 by the dtype's eps."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the inverse of ``logits_to_probs``, for probabilities clamped off 0 and 1."""
    inner = clamp_probs(probs)
    return torch.log(inner) - torch.log1p(-inner) if is_binary else torch.log(inner)


class lazy_property:
    """A method that is evaluated once, with grad enabled, and then replaced by an attribute of the instance."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """A lazy property accessed on the class, which documentation tools recognize as a property."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def _triangle(size: int, diag: int, device: device | str | int) -> Tensor:
    """Return a mask of a square matrix's lower triangle up to diagonal ``diag``."""
    index = torch.arange(size, device=device)
    return index < index.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the lower triangles of matrices (… × D × D), flattened row by row."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    return mat[..., _triangle(size, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return square matrices with the vectors as lower triangles; the inverse of ``tril_matrix_to_vec``."""
    ahead = 1 + 2 * diag
    size = (-ahead + (ahead**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(size) - size > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    matrix = vec.new_zeros(vec.shape[:-1] + torch.Size((round(size), round(size))))
    matrix[..., _triangle(round(size), diag, vec.device)] = vec
    return matrix


__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip
