"""Several transforms, each applied to a slice of the tensor along one dimension."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from .._src.core.tensor_base import TensorBase
from .._tensor import Tensor
from . import constraints
from ._transform_base import Transform
from .utils import _sum_rightmost, lazy_property


class _Parts(Transform):
    """Base of the transforms that join slices."""

    transforms: list[Any]
    dim: int

    def _take(self, tseq: Sequence[Any], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _wanted(self) -> tuple[int, str]:
        """Return the required size of dimension ``dim``, and the name of that size in error messages."""
        raise NotImplementedError

    def _split(self, value: Tensor, name: str, kind: str) -> Sequence[Any]:
        size, wording = self._wanted()
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for {kind} with {value.dim()} dimensions")
        if value.size(self.dim) != size:
            raise AssertionError(f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {wording} {size}")
        return self._pieces(value)

    def _pieces(self, value: Any) -> Sequence[Any]:
        raise NotImplementedError

    def _joined(self, parts: Sequence[Any]) -> Any:
        raise NotImplementedError

    def _call(self, x: Tensor) -> TensorBase:
        return self._joined([t(part) for t, part in zip(self.transforms, self._split(x, "x", "tensor"))])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._joined([t.inv(part) for t, part in zip(self.transforms, self._split(y, "y", "tensor"))])

    def _stretches(self, x: Tensor, y: Tensor) -> list[Any]:
        ends = zip(self.transforms, self._split(x, "x", "x"), self._split(y, "y", "y"))
        return [t.log_abs_det_jacobian(start, end) for t, start, end in ends]

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)


class CatTransform(_Parts):
    """Applies transforms to consecutive slices of the given lengths (1 by default), and concatenates the results."""

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        self._take(tseq, dim, cache_size)
        super().__init__(cache_size=cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The size along the dimension."""
        return sum(self.lengths)

    def _mstorch_rebuilt(self, cache_size: int) -> Any:
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _wanted(self) -> tuple[int, str]:
        return self.length, "length"

    def _pieces(self, value: Tensor) -> Sequence[Any]:
        return value.split(self.lengths, self.dim)

    def _joined(self, parts: Sequence[Any]) -> Tensor:
        return torch.cat(tuple(parts), dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        stretches = [
            _sum_rightmost(stretch, max(self.event_dim - t.event_dim, 0))
            for t, stretch in zip(self.transforms, self._stretches(x, y))
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(stretches, dim=dim) if dim < 0 else sum(stretches)

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """Applies a transform for each index along a dimension, and stacks the results."""

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        self._take(tseq, dim, cache_size)
        super().__init__(cache_size=cache_size)

    def _mstorch_rebuilt(self, cache_size: int) -> Any:
        return StackTransform(self.transforms, self.dim, cache_size)

    def _wanted(self) -> tuple[int, str]:
        return len(self.transforms), "len(transforms)"

    def _pieces(self, value: Tensor) -> Sequence[Any]:
        return value.unbind(self.dim)

    def _joined(self, parts: Sequence[Any]) -> Tensor:
        return torch.stack(tuple(parts), dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.stack(self._stretches(x, y), dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
