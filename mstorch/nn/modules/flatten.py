"""Flatten and Unflatten."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .module import Module


class Flatten(Module):
    """Flattens several dimensions to one."""

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, *) → (N, the product of *), with the default arguments."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several."""

    __constants__ = ["dim", "unflattened_size"]
    dim: int
    unflattened_size: list[int] | tuple[int, ...]

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, int):
            self._require_tuple_int(unflattened_size)
        elif isinstance(dim, str):
            self._require_tuple_tuple(unflattened_size)
        else:
            raise TypeError("invalid argument type for dim parameter")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_tuple(self, input: Any) -> None:
        if not isinstance(input, tuple):
            raise TypeError(f"unflattened_size must be a tuple of tuples, but found type {type(input).__name__}")
        for index, item in enumerate(input):
            if not isinstance(item, tuple):
                raise TypeError(
                    f"unflattened_size must be tuple of tuples, but found element of type {type(item).__name__} at pos {index}"
                )

    def _require_tuple_int(self, input: tuple[int, int]) -> None:
        if not isinstance(input, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(input).__name__}")
        for index, item in enumerate(input):
            if not isinstance(item, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(item).__name__} at pos {index}"
                )

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (*, n, *) → (*, unflattened_size, *)."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


__all__ = ["Flatten", "Unflatten"]
